/** Masked sentences for people to read, before hours are spent on them. */

import type { SentenceWithMask } from "./masked-sentences.ts";

/** Three lines: where it is from and what kind was masked, the question, and the answer. */
export function formatMaskedSentence({
  question,
  entity,
  kind,
  passageId,
  sentence,
}: SentenceWithMask): string {
  const oneLine = (text: string) => text.replace(/\s+/gu, " ");
  return [
    `${passageId}:${sentence.start}-${sentence.end}  ${kind}`,
    `  question  ${oneLine(question.replace("<extra_id_0>", "____"))}`,
    `  answer    ${oneLine(entity)}`,
  ].join("\n");
}
