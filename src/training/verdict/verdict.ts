/**
 * What a run brought, before and after, with intervals, and a line in words. The line is the same
 * in the report, the card, the record and the terminal.
 */

import type { Measures } from "../../evaluation/measures.ts";
import type { HybridWeights } from "../../model/config.ts";
import { MIN_STEPS } from "../options/run-options.ts";
import {
  bestTrained,
  decide,
  type Gain,
  pairedGain,
  type RefusedModel,
  reportedGains,
  reportedRanks,
} from "./decision.ts";
import type { MeasuredSet } from "./measured-set.ts";
import { type MeasuredModel, type ModelKind, measuresOf } from "./measurements.ts";

/** Right answers from the relevant passage, among `questions`. */
export interface ReadingOutcome {
  /** Right answers of the given model. */
  readonly before: number;
  /** Right answers of the saved model. */
  readonly after: number;
  /** Number of examples with answers that were read. */
  readonly questions: number;
}

/**
 * What a run brought: by dev questions, which chose the model; or by the held-out examples that
 * chose nothing; or, of few examples, by all.
 */
export interface RunOutcome {
  /** The measures before the run. With dev questions also those of answers. */
  readonly before: Measures;
  /** Of the saved model, which is that of `step`. */
  readonly after: Measures;
  /** Of the mean reciprocal rank, from before to after. */
  readonly gain: Gain;
  /** Of exact match. Undefined for held-out examples, which are not answered. */
  readonly answers?: Gain | undefined;
  /** BM25 on the same questions and passages. */
  readonly bm25: Measures;
  /** Hybrid search, with the weights that the questions that choose chose. */
  readonly hybrid: {
    readonly before: Measures;
    readonly after: Measures;
    readonly gain: Gain;
    readonly weights: HybridWeights;
  };
  /**
   * What reads, measured on all held-out examples with answers. `unchanged` if the run trains none
   * of it. Undefined if no example has an answer.
   */
  readonly reading?: ReadingOutcome | "unchanged" | undefined;
  /** The gain of these answers, as a share. Undefined if they were not measured. */
  readonly readingGain?: Gain | undefined;
  /** The step whose weights are kept. */
  readonly step: number;
  /** What the saved model is. */
  readonly kept: ModelKind;
  /** Number of questions. */
  readonly questions: number;
  /** Whether they chose the model too. Then the gain is a little too high. */
  readonly choseToo: boolean;
  /**
   * The least gain that so few questions can tell from chance: half of the 95 % interval of the
   * gain of the kept model or, if the given one was kept, of the last that was measured. Undefined
   * for many questions, and if their ranks and answers are all as before.
   */
  readonly resolution?: number | undefined;
  /**
   * What was chosen, and refused by these examples: the 95 % interval of the model alone, or of
   * hybrid search, lies below 0. The given model is kept in its place.
   */
  readonly refused?: RefusedModel | undefined;
  /**
   * The best trained model, where another one is kept, and these examples find it higher alone and
   * in hybrid search: too little for the questions that choose, or it reads worse.
   */
  readonly passedOver?: RefusedModel | undefined;
}

/**
 * The outcome of the model that is kept: see `decide`.
 *
 * @param models at least the given one, which is the first
 * @param changesReading whether the run trains what reads
 */
export function outcomeOf(
  models: readonly MeasuredModel[],
  { reportedBaseline }: Pick<MeasuredSet, "reportedBaseline">,
  changesReading: boolean,
): RunOutcome {
  const [start] = models as [MeasuredModel];
  const { kept, refused } = decide(models);
  const { alone, hybrid } = reportedGains(start, kept);
  const [before, after] = [start, kept].map(reportedMeasures) as [Reported, Reported];
  const reading = changesReading ? readingOf(start, kept) : "unchanged";
  const passedOver = refused ? undefined : passedOverBy(kept, models);
  const resolution = resolutionOf(start, kept === start ? models.at(-1)! : kept);
  return {
    before: before.alone,
    after: after.alone,
    gain: alone,
    ...(start.exactMatch && { answers: pairedGain(start.exactMatch, kept.exactMatch!) }),
    bm25: reportedBaseline,
    hybrid: {
      before: before.hybrid,
      after: after.hybrid,
      gain: hybrid,
      weights: kept.hybrid.weights,
    },
    ...(reading && { reading }),
    ...(reading && start.reading && { readingGain: pairedGain(start.reading, kept.reading!) }),
    step: kept.step,
    kept: kept.kind,
    questions: reportedRanks(start).reciprocalRanks.length,
    choseToo: start.reported === undefined,
    ...(resolution && { resolution }),
    ...(refused && { refused }),
    ...(passedOver && { passedOver }),
  };
}

/** See `RunOutcome.passedOver`. */
function passedOverBy(
  kept: MeasuredModel,
  models: readonly MeasuredModel[],
): RefusedModel | undefined {
  const [start] = models as [MeasuredModel];
  const best = bestTrained(models);
  if (!best || start.exactMatch || (kept.kind !== "start" && kept.kind !== "token weights"))
    return undefined;
  const { alone: gain, hybrid } = reportedGains(start, best);
  const { step, kind } = best;
  return gain.difference > 0 && hybrid.difference > 0 ? { step, kind, gain, hybrid } : undefined;
}

/** From so many questions on, the interval alone says enough. */
const MANY = 300;

/** See `RunOutcome.resolution`. 0 if nothing changed. */
function resolutionOf(start: MeasuredModel, model: MeasuredModel): number {
  const { reciprocalRanks } = reportedRanks(start);
  if (reciprocalRanks.length >= MANY) return 0;
  const { interval } = start.exactMatch
    ? pairedGain(start.exactMatch, model.exactMatch!)
    : reportedGains(start, model).alone;
  return (interval[1] - interval[0]) / 2;
}

interface Reported {
  readonly alone: Measures;
  readonly hybrid: Measures;
}

function reportedMeasures(model: MeasuredModel): Reported {
  const { reciprocalRanks, hybrid } = reportedRanks(model);
  const { exactMatch, f1, own } = model;
  return {
    alone: measuresOf({ reciprocalRanks, exactMatch, f1, own }),
    hybrid: measuresOf({ reciprocalRanks: hybrid }),
  };
}

function readingOf(
  { reading: before }: MeasuredModel,
  { reading: after }: MeasuredModel,
): ReadingOutcome | undefined {
  if (!before || !after) return undefined;
  const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);
  return { before: sum(before), after: sum(after), questions: before.length };
}

/** A share of R@1 from which on a gain can hardly be seen. */
const SATURATED = 0.95;

/**
 * What a run brought, in a line: `gain: R@1 25 → 41 of 100 held-out examples, MRR +9.0 points (95 %
 * interval +3.1 to +15.2)`, with answers, hybrid search, BM25 and reading beside it. `gain in
 * hybrid search` or `gain in reading` if only their interval lies above 0, `no clear gain` if none
 * does; or that the original model was kept, what was refused, and what was higher but not kept.
 */
export function verdictOf({
  outcome,
  step: trained,
}: {
  readonly outcome?: RunOutcome | undefined;
  readonly step: number;
}): string {
  if (!outcome)
    return "no verdict: too few examples to hold some out; compare with reatt benchmark";
  const { before, after, gain, hybrid, bm25, step, kept, refused, passedOver } = outcome;
  const found = (measures: Measures): number =>
    Math.round(measures["recall@1"]! * outcome.questions);
  const of = `of ${outcome.questions} ${questionsText(outcome)}`;
  const others = passedOver ? otherText(passedOver, "not kept") : "";
  const limits = `${others}${limitsText(outcome, found(before), trained)}`;
  if (step === 0) {
    const reason = trained === 0 ? "no time was left to train" : "no gain";
    const unchanged = `${reason}, model unchanged: R@1 ${found(before)} ${of}${readsText(outcome)}`;
    return `${unchanged}${refused ? otherText(refused, "refused") : ""}${limits}`;
  }
  const word = `${wordFor(outcome)}${kept === "token weights" ? " (token weights alone)" : ""}`;
  const change = `R@1 ${found(before)} → ${found(after)} ${of}, MRR ${points(gain, "points", "95 % interval ")}`;
  const both = `hybrid ${found(hybrid.before)} → ${found(hybrid.after)}, ${points(hybrid.gain)}`;
  return `${word}: ${change}; ${both}; BM25 ${found(bm25)}; ${readingText(outcome)}${limits}`;
}

const questionsText = ({ answers, choseToo }: RunOutcome): string =>
  `${answers ? "dev questions" : "held-out examples"}${choseToo ? ", which chose the model too" : ""}`;

/** What the figures cannot show. */
const limitsText = (
  { before, answers, questions, resolution }: RunOutcome,
  found: number,
  steps: number,
): string =>
  (resolution
    ? `; ${questions} questions show ${answers ? "exact match" : "MRR"} to ±${(100 * resolution).toFixed(1)} points`
    : "") +
  (before["recall@1"]! >= SATURATED
    ? `; ${found} were first before, so these examples can show hardly any gain`
    : "") +
  (steps > 0 && steps < MIN_STEPS ? `; ${steps} steps are too few to show a gain` : "");

const otherText = ({ step, kind, gain, hybrid }: RefusedModel, what: string): string =>
  `; ${kind === "token weights" ? kind : `step ${step}`} ${what}: MRR ` +
  `${points(gain, "points", "95 % interval ")}, hybrid ${points(hybrid)}`;

/** Names the first gain beyond chance. A clear loss is not kept: see `RefusedModel`. */
function wordFor({ answers, gain, hybrid, readingGain }: RunOutcome): string {
  const isClear = ({ interval: [low] }: Gain): boolean => low > 0;
  if (isClear(answers ?? gain)) return "gain";
  if (isClear(gain)) return "gain in retrieval";
  if (isClear(hybrid.gain)) return "gain in hybrid search";
  return readingGain && isClear(readingGain) ? "gain in reading" : "no clear gain";
}

/** `+4.1 (−0.3 to +8.5)`, in points. */
const points = ({ difference, interval }: Gain, unit = "", what = ""): string =>
  `${[signed(difference), unit].join(" ").trim()} (${what}${interval.map(signed).join(" to ")})`;

const signed = (share: number): string =>
  `${share < 0 ? "−" : "+"}${Math.abs(100 * share).toFixed(1)}`;

/** What the given model reads, if the run trained that and keeps the given model. */
const readsText = ({ reading }: RunOutcome): string =>
  typeof reading === "object"
    ? `, right answers from the right passage ${reading.before} of ${reading.questions}`
    : "";

function readingText({ reading, answers, questions, before, after }: RunOutcome): string {
  if (answers) {
    const right = ({ exactMatch }: Measures): number => Math.round(exactMatch! * questions);
    return `exact match ${right(before)} → ${right(after)}, ${points(answers)}`;
  }
  if (reading === undefined) return "reading not measured";
  if (reading === "unchanged") return "reading unchanged";
  return `right answers from the right passage ${reading.before} → ${reading.after} of ${reading.questions}`;
}
