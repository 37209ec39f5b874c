/** The card of an adapted model. */

import type { HybridWeights } from "../../model/config.ts";
import { cardEntries } from "../../options/records.ts";
import type { Corpus } from "../examples/corpus.ts";
import { ADAPT_OPTIONS, type AdaptRequest } from "../options/adapt-options.ts";
import { measuresTable, writeModelCard } from "../run/card.ts";
import type { TrainingResult } from "../run/events.ts";
import { verdictOf } from "../run/verdict.ts";
import type { AdaptationPlan } from "./plan.ts";

export interface CardContent {
  readonly plan: AdaptationPlan;
  readonly training: TrainingResult;
  readonly corpus: Pick<Corpus, "digest">;
  /** SHA-256 of the training examples. */
  readonly data: string;
  /** What everything before the index took. */
  readonly seconds: number;
  /** Whether the given model has weights. */
  readonly isBased: boolean;
}

/** @throws {InputError} if the disk refuses */
export async function writeAdaptationCard(
  options: AdaptRequest,
  { plan, training, corpus, data, seconds, isBased }: CardContent,
): Promise<void> {
  const { out, model } = options;
  const sources = plan.sources.map(({ name, examples }) => `${name} (up to ${examples} examples)`);
  await writeModelCard({
    ...{ out, model, isBased, data, seconds },
    description: `A ReAtt model adapted to a corpus.${plan.keepsIndex ? KEPT : ""}`,
    corpus: { file: options.corpus, passages: plan.passages, digest: corpus.digest },
    trainedOn: sources.join(", "),
    facts: [
      ["verdict", verdictOf(training)],
      ["ended", ending(training)],
      ...(plan.average && isTrained(training) ? [["weights", MEAN]] : []),
    ],
    timed: " before the index",
    figures: figures(training),
    options: cardEntries(ADAPT_OPTIONS, { ...options }),
  });
}

const KEPT = " An index made with the base model is valid for it.";

const MEAN = "the mean of those of the base model and those of this step";

const ending = (training: TrainingResult): string =>
  `after step ${training.step}${training.failure ? `: ${training.failure}` : ""}; ` +
  `this is the model of step ${keptStep(training)}`;

const keptStep = ({ step, failure, monitor }: TrainingResult): number =>
  monitor?.step ?? (failure ? 0 : step);

/** Whether the saved model is neither the given one nor that with counted token weights. */
const isTrained = (training: TrainingResult): boolean =>
  keptStep(training) > 0 && !training.monitor?.taken;

function figures({ monitor }: TrainingResult): string {
  if (!monitor) return "There were too few examples to hold some out for measurements.";
  const { before, after, bm25, hybrid } = monitor;
  const choice = monitor.choseToo
    ? `examples. They also chose the step, by the mean reciprocal rank (mrr), and lambda, so "after" is slightly too high.`
    : "examples that chose nothing. As many others chose the step, by the mean reciprocal rank (mrr), and lambda.";
  return `Retrieval of the relevant passage from a sample of the corpus, for ${monitor.questions} held-out
${choice}
${hybridText(hybrid.weights, monitor.step > 0)}
${measuresTable([
  ["BM25", bm25],
  ["before", before],
  ["after", after],
  ["hybrid before", hybrid.before],
  ["hybrid after", hybrid.after],
])}`;
}

const hybridText = ({ lambda, k1, b }: HybridWeights, isStored: boolean): string =>
  `"hybrid" is BM25 (k1 ${k1}, b ${b}) / terms of the question + lambda x the model, with a lambda for each model.${isStored ? ` \`config.json\` stores lambda ${lambda}, which \`reatt answer\` uses.` : ""}
`;
