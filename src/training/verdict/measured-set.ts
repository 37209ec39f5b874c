/**
 * What a run is measured with: the questions of `--dev` on the whole corpus, which are also
 * answered; or held-out examples on a small part of it.
 */

import { containsAnswer } from "../../evaluation/answers.ts";
import type { Measures } from "../../evaluation/measures.ts";
import { type Bm25, buildBm25 } from "../../retrieval/bm25/bm25.ts";
import type { Ranking } from "../../retrieval/scoring/top-k.ts";
import type { Passage } from "../../text/passage.ts";
import type { Corpus } from "../examples/corpus.ts";
import type { MonitorQuestion, MonitorSet, TrainingData } from "../examples/training-data.ts";
import { fittingQuestions, readQuestionsAbout } from "../examples/training-questions.ts";
import type { Baseline } from "../report/report.ts";
import { DEPTH, measuresOf } from "./measurements.ts";

export interface MeasuredSet extends Omit<MonitorSet, "passages"> {
  /**
   * The passages that are searched; undefined for the whole corpus, of the questions of `--dev`.
   */
  readonly passages: readonly Passage[] | undefined;
  /** BM25 over the passages, by their ordinals. */
  readonly lexical: Bm25;
  /** Whether each question sees a passage, by its ordinal. Undefined if each sees all. */
  readonly sees?: readonly ((ordinal: number) => boolean)[] | undefined;
  /** Questions about one passage have one number. */
  readonly groups: readonly number[];
  /** Whether each question reports what the run brought, and chooses nothing. Of few, none does. */
  readonly reports: readonly boolean[];
  /** The measures of BM25 on the questions that choose. */
  readonly baseline: Baseline;
  /** The same on those that report, or else on all. */
  readonly reportedBaseline: Measures;
}

interface MeasuredSetOptions {
  /** The folder of the model, whose tokenizer says what it can read. */
  readonly model: string;
  /** A file of questions, and how many of them. */
  readonly dev: string | undefined;
  readonly devQuestions: number;
  /** Steps between two measurements of dev questions. */
  readonly every: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Opens what a run is measured with; undefined if that is nothing.
 *
 * @throws {InputError} if the dev file cannot be read, or is about another corpus
 */
export async function openMeasuredSet(
  { model, dev, devQuestions, every, signal }: MeasuredSetOptions,
  { monitorSet }: TrainingData,
  corpus: Corpus,
): Promise<MeasuredSet | undefined> {
  if (dev === undefined) return monitorSet && openMonitorSet(monitorSet, corpus, signal);
  const asked = (await readQuestionsAbout(corpus, dev, signal)).slice(0, devQuestions);
  const read = await fittingQuestions(model, asked);
  const questions = read.map(({ question, answers, passageId }) => ({
    question,
    answers,
    relevant: passageId === undefined ? [] : [passageId],
  }));
  const lexical = await corpus.bm25();
  const rankings = questions.map(({ question }) => lexical.rank(question, DEPTH));
  const ofUnknown = rankings.filter((_, i) => questions[i]!.relevant.length === 0);
  const texts = await corpus.pick(ofUnknown.flatMap((ranking) => idsOf(ranking, lexical)));
  const ranks = rankings.map((ranking, i) =>
    reciprocalRank(idsOf(ranking, lexical), (id) =>
      isRelevant(questions[i]!, texts.get(id) ?? { id, text: "" }),
    ),
  );
  const baseline = baselineOf(ranks);
  return {
    ...{ questions, passages: undefined, every, lexical, baseline },
    reportedBaseline: baseline.measures,
    groups: [...questions.keys()],
    reports: questions.map(() => false),
  };
}

/**
 * Scores the passages of held-out examples by BM25, with the statistics of the whole corpus: the
 * scores, and so the weights of hybrid search, depend on the size of the corpus.
 */
export async function openMonitorSet(
  set: MonitorSet,
  corpus: Pick<Corpus, "bm25">,
  signal?: AbortSignal,
): Promise<MeasuredSet> {
  const lexical = await buildBm25(set.passages, { signal }, await corpus.bm25());
  const sees = sightOf(set);
  const ranks = set.questions.map(({ question, relevant }, i) => {
    const ranking = lexical.rank(question, DEPTH, { accept: sees[i]! });
    return reciprocalRank(idsOf(ranking, lexical), (id) => relevant.includes(id));
  });
  const groups = groupsOf(set.questions);
  const divides = set.questions.length >= MIN_DIVIDED;
  const reports = groups.map((group) => divides && group % 2 === 1);
  const { choosing, reporting } = divide(ranks, reports);
  const baseline = baselineOf(choosing);
  const reportedBaseline =
    reporting.length === 0 ? baseline.measures : measuresOf({ reciprocalRanks: reporting });
  return { ...set, lexical, sees, groups, reports, baseline, reportedBaseline };
}

/** Whether each question sees a passage of the set, by its place. */
function sightOf({ questions, passages }: MonitorSet): ((place: number) => boolean)[] {
  const versionsOf = ({ instead = [] }: MonitorQuestion) => instead.map(([, version]) => version);
  const versions = new Set(questions.flatMap(versionsOf));
  return questions.map((question) => {
    const hidden = new Set(question.instead?.map(([id]) => id));
    const own = new Set(versionsOf(question));
    return (place) => {
      const { id } = passages[place]!;
      return versions.has(id) ? own.has(id) : !hidden.has(id);
    };
  });
}

/** With fewer questions, half of them would choose little more than by chance. */
const MIN_DIVIDED = 40;

/** The groups of questions, numbered from 0: those about one passage are in one. */
function groupsOf(questions: readonly MonitorQuestion[]): number[] {
  const known = new Map<string, number>();
  let count = 0;
  return questions.map(({ relevant, about = relevant }) => {
    const group = about.map((id) => known.get(id)).find((one) => one !== undefined) ?? count++;
    for (const id of about) known.set(id, group);
    return group;
  });
}

/** What belongs to the questions that choose, and to those that report. */
export const divide = <T>(
  all: readonly T[],
  reports: readonly boolean[],
): { choosing: T[]; reporting: T[] } => ({
  choosing: all.filter((_, i) => !reports[i]),
  reporting: all.filter((_, i) => reports[i]),
});

const baselineOf = (reciprocalRanks: readonly number[]): Baseline => ({
  name: "BM25",
  measures: measuresOf({ reciprocalRanks }),
});

/**
 * Whether a passage is known to be relevant or, if none is known, whether it contains an answer.
 */
export const isRelevant = (
  { relevant, answers = [] }: MonitorQuestion,
  { id, text }: Pick<Passage, "id" | "text">,
): boolean => (relevant.length > 0 ? relevant.includes(id) : containsAnswer(text, answers));

export const idsOf = ({ ordinals }: Ranking, { ids }: Pick<Bm25, "ids">): string[] =>
  Array.from(ordinals, (ordinal) => ids[ordinal]!);

/** 1 / rank of the first relevant one; 0 if there is none. */
export function reciprocalRank<T>(ranking: readonly T[], isFound: (one: T) => boolean): number {
  const rank = ranking.findIndex(isFound);
  return rank === -1 ? 0 : 1 / (rank + 1);
}
