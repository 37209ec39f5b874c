/**
 * What a run brought, by the held-out examples that chose nothing (of few, by all): before and
 * after, with intervals, and a line in words. The line is the same in the report, the card, the
 * record and the terminal.
 */

import type { Measures } from "../../evaluation/measures.ts";
import { pairedDifference } from "../../evaluation/significance.ts";
import type { HybridWeights } from "../../model/config.ts";
import { bestOf, type MeasurementRecord, measuresOf, type ReportedRanks } from "./records.ts";

/** A difference of mean reciprocal ranks over the same questions. */
export interface Gain {
  /** After minus before, from -1 to 1. */
  readonly difference: number;
  /** The 95 % interval, by 10,000 bootstrap samples of the passages that questions are about. */
  readonly interval: readonly [low: number, high: number];
}

/** Right answers from the relevant passage, among `questions`. */
export interface ReadingOutcome {
  /** Right answers of the given model. */
  readonly before: number;
  /** Right answers of the saved model. */
  readonly after: number;
  /** Number of examples with answers that were read. */
  readonly questions: number;
}

/** What the held-out examples say of a run that did not choose its model; of few, what all say. */
export interface MonitorOutcome {
  /** The measures before the run. */
  readonly before: Measures;
  /** Of the saved model, which is that of `step`. */
  readonly after: Measures;
  /** From before to after. */
  readonly gain: Gain;
  /** BM25 on the same questions and passages. */
  readonly bm25: Measures;
  /** Hybrid search, with the weights that the other half of the examples chose. */
  readonly hybrid: {
    readonly before: Measures;
    readonly after: Measures;
    readonly gain: Gain;
    readonly weights: HybridWeights;
  };
  /**
   * What reads, measured on all examples with answers. `unchanged` if the run trains none of it.
   * Undefined if no example has an answer.
   */
  readonly reading?: ReadingOutcome | "unchanged" | undefined;
  /** The step whose weights are kept. */
  readonly step: number;
  /** Whether the saved model is one that was taken without a gain: see `bestOf`. Default: false. */
  readonly taken?: boolean | undefined;
  /** Number of questions. */
  readonly questions: number;
  /** Whether they chose the model too, since there were few. Then the gain is a little too high. */
  readonly choseToo: boolean;
  /**
   * What was chosen, and refused by these examples: the 95 % interval of the model alone, or of
   * hybrid search, lies below 0. The given model is kept in its place.
   */
  readonly refused?: RefusedModel | undefined;
}

/** A model that was chosen and is clearly worse than the given one. */
export interface RefusedModel {
  /** The step of its weights. */
  readonly step: number;
  /** Whether it is the given model with counted token weights. Default: false. */
  readonly taken?: boolean | undefined;
  /** Its gain over the given model, alone. */
  readonly gain: Gain;
  /** The gain in hybrid search. */
  readonly hybrid: Gain;
}

/**
 * The outcome of the best model, or of the given one if the best is clearly worse in what the
 * examples report.
 *
 * @param bm25 the measures of BM25
 * @param changesReading whether the run trains what reads
 */
export function outcomeOf(
  records: readonly MeasurementRecord[],
  bm25: Measures,
  changesReading: boolean,
): MonitorOutcome {
  const first = records[0]!;
  const best = bestOf(records);
  const refused = refusalOf(first, best);
  const kept = refused ? first : best;
  const [start, end] = [first, kept].map(reportedRanks) as [ReportedRanks, ReportedRanks];
  const of = (reciprocalRanks: readonly number[]): Measures => measuresOf({ reciprocalRanks });
  const reading = changesReading ? readingOf(first, kept) : "unchanged";
  return {
    before: of(start.reciprocalRanks),
    after: of(end.reciprocalRanks),
    gain: gainOf(start.reciprocalRanks, end.reciprocalRanks, start.groups),
    bm25,
    hybrid: {
      before: of(start.hybrid),
      after: of(end.hybrid),
      gain: gainOf(start.hybrid, end.hybrid, start.groups),
      weights: kept.hybrid.weights,
    },
    ...(reading && { reading }),
    step: kept.step,
    ...(kept.taken && { taken: true }),
    questions: start.reciprocalRanks.length,
    choseToo: first.reported === undefined,
    ...(refused && { refused }),
  };
}

function refusalOf(first: MeasurementRecord, best: MeasurementRecord): RefusedModel | undefined {
  const [start, end] = [reportedRanks(first), reportedRanks(best)];
  const gain = gainOf(start.reciprocalRanks, end.reciprocalRanks, start.groups);
  const hybrid = gainOf(start.hybrid, end.hybrid, start.groups);
  if (![gain, hybrid].some(isClearLoss)) return undefined;
  return { step: best.step, ...(best.taken && { taken: true }), gain, hybrid };
}

const isClearGain = ({ interval: [low] }: Gain): boolean => low > 0;

const isClearLoss = ({ interval: [, high] }: Gain): boolean => high < 0;

const reportedRanks = (record: MeasurementRecord): ReportedRanks => {
  const { reported, reciprocalRanks, hybrid, groups } = record;
  return reported ?? { reciprocalRanks, hybrid: hybrid.reciprocalRanks, groups };
};

function gainOf(
  before: readonly number[],
  after: readonly number[],
  groups: readonly number[] | undefined,
): Gain {
  const { difference, interval } = pairedDifference(before, after, groups);
  return { difference, interval };
}

function readingOf(
  { reading: before }: MeasurementRecord,
  { reading: after }: MeasurementRecord,
): ReadingOutcome | undefined {
  if (!before || !after) return undefined;
  const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);
  return { before: sum(before), after: sum(after), questions: before.length };
}

/** A share of R@1 from which on a gain can hardly be seen. */
const SATURATED = 0.95;

/**
 * What a run brought, in a line: `gain: R@1 25 → 41 of 100 held-out examples, MRR +9.0 points (95 %
 * interval +3.1 to +15.2)`, with hybrid search, BM25 and reading beside it. `gain in hybrid search`
 * if only its interval lies above 0, `no clear gain` if none does; or that the original model was
 * kept, and what was refused.
 */
export function verdictOf({
  monitor,
  step: trained,
}: {
  readonly monitor?: MonitorOutcome | undefined;
  readonly step: number;
}): string {
  if (!monitor)
    return "no verdict: too few examples to hold some out; compare with reatt benchmark";
  const { before, after, gain, hybrid, bm25, questions, step, taken } = monitor;
  const found = (measures: Measures): number => Math.round(measures["recall@1"]! * questions);
  const of = `of ${questions} held-out examples${monitor.choseToo ? ", which chose the model too" : ""}`;
  const saturated =
    before["recall@1"]! >= SATURATED
      ? `; ${found(before)} were first before, so these examples can show hardly any gain`
      : "";
  if (step === 0) {
    const reason = trained === 0 ? "no time was left to train" : "no gain";
    const kept = `${reason}, model unchanged: R@1 ${found(before)} ${of}`;
    return `${kept}${monitor.refused ? refusalText(monitor.refused) : ""}${saturated}`;
  }
  const change = `R@1 ${found(before)} → ${found(after)} ${of}, MRR ${points(gain, "points", "95 % interval ")}`;
  const both = `hybrid ${found(hybrid.before)} → ${found(hybrid.after)}, ${points(hybrid.gain)}`;
  const beside = `${both}; BM25 ${found(bm25)}; ${readingText(monitor)}`;
  return `${taken ? "no gain from training, token weights counted" : wordFor(gain, hybrid.gain)}: ${change}; ${beside}${saturated}`;
}

const refusalText = ({ step, taken, gain, hybrid }: RefusedModel): string =>
  `; ${taken ? "token weights" : `step ${step}`} refused: MRR ` +
  `${points(gain, "points", "95 % interval ")}, hybrid ${points(hybrid)}`;

/** A loss is not kept: see `RefusedModel`. */
function wordFor(gain: Gain, hybrid: Gain): string {
  if (isClearGain(gain)) return "gain";
  return isClearGain(hybrid) ? "gain in hybrid search" : "no clear gain";
}

/** `+4.1 (−0.3 to +8.5)`, in points. */
const points = ({ difference, interval }: Gain, unit = "", what = ""): string =>
  `${[signed(difference), unit].join(" ").trim()} (${what}${interval.map(signed).join(" to ")})`;

const signed = (share: number): string =>
  `${share < 0 ? "−" : "+"}${Math.abs(100 * share).toFixed(1)}`;

function readingText({ reading }: MonitorOutcome): string {
  if (reading === undefined) return "reading not measured";
  if (reading === "unchanged") return "reading unchanged";
  const { before, after, questions } = reading;
  return `right answers from the right passage ${before} → ${after} of ${questions}`;
}
