/** Formats masked sentences for the plan of an adaptation. */

import type { MaskedSentence } from "./masked-sentences.ts";

/** Three lines: passage, place and kind; the question; the answer. */
export function formatMaskedSentence({
  question,
  entity,
  kind,
  passageId,
  sentence,
}: MaskedSentence): string {
  const oneLine = (text: string) => text.replace(/\s+/gu, " ");
  return [
    `${passageId}:${sentence.start}-${sentence.end}  ${kind}`,
    `  question  ${oneLine(question.replace("<extra_id_0>", "____"))}`,
    `  answer    ${oneLine(entity)}`,
  ].join("\n");
}
