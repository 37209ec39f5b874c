/** Sample examples for the plan of a run. */

import type { Corpus } from "../examples/corpus.ts";
import { type Example, MASK } from "../examples/example.ts";
import { relevanceTarget } from "../examples/sources/labels.ts";

export interface PlanSample {
  readonly question: string;
  /** Empty for an example that trains retrieval alone. */
  readonly answer: string;
  /** Source and id, question and answer, formatted. */
  readonly text: string;
}

/** Samples of each source. */
export const SAMPLES = 5;

/** Samples of the questions and of the labels that files give. */
export async function fileSamples(
  corpus: Corpus,
  { questions, labels }: Readonly<Record<"questions" | "labels", readonly Example[]>>,
): Promise<PlanSample[]> {
  const labelled = labels.slice(0, SAMPLES);
  const passages = await corpus.pick(labelled.map(({ relevant }) => relevant[0]!));
  return [
    ...questions.slice(0, SAMPLES).map((example) => sampleOf("questions", example)),
    ...labelled.map((example) => {
      const target = relevanceTarget(example.labels![0]!, passages.get(example.relevant[0]!)!);
      return sampleOf("labels", { ...example, answers: [target] });
    }),
  ];
}

export function sampleOf(
  source: string,
  { id, question, answers: [answer = ""] }: Example,
): PlanSample {
  const lines = [`${source} ${id}`, `  question  ${oneLine(question.replace(MASK, "____"))}`];
  if (answer !== "") lines.push(`  answer    ${oneLine(answer)}`);
  return { question, answer, text: lines.join("\n") };
}

const oneLine = (text: string): string => text.replace(/\s+/gu, " ");
