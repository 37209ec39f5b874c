/** The task of an adaptation: its sources, mixed, and the monitor that watches retrieval. */

import { createHash } from "node:crypto";
import { containsAnswer } from "../../evaluation/answers.ts";
import type { ProgressEvent } from "../../io/progress.ts";
import { createRandom } from "../../math/random.ts";
import { buildBm25 } from "../../retrieval/bm25/bm25.ts";
import { readPassages } from "../../text/read-passages.ts";
import { type CorpusSurvey, pickPassages } from "../data/corpus.ts";
import { labelTask } from "../data/label-task.ts";
import {
  keptMaskedSentences,
  LOOKED_AT,
  MAX_PER_PASSAGE,
  maskedTask,
} from "../data/masked-task.ts";
import { type MixedPart, mixedTask } from "../data/mixed-task.ts";
import { questionTask } from "../data/question-task.ts";
import type { MonitoredQuestion, RetrievalMonitor, TrainingTask } from "../data/task.ts";
import type { TrainingQuestion } from "../data/training-questions.ts";
import type { ResolvedAdaptOptions, SourceName } from "../options/adapt-options.ts";
import { removeMaskedSentence, type SentenceWithMask } from "../salient-spans/index.ts";
import { type AdaptationInputs, holdOut } from "./inputs.ts";

/** The most that the papers take. */
const MAX_SENTENCES = 100_000;
/** A tenth of these is enough to watch retrieval. */
const MIN_MONITOR_SENTENCES = 1_000;

/** Random passages that the right ones are to be told from. */
export const MONITOR_PASSAGES = 400;
/** Passages in which an answer is looked for, where nobody said which one is right. */
const MONITOR_DEPTH = 20;

/** How many examples there are to train on: five sentences of each passage, and all that files give. */
export function availableExamples(
  { sources, questions, labelled }: AdaptationInputs,
  { ids }: CorpusSurvey,
): number {
  const sentences = Math.min(ids.length * MAX_PER_PASSAGE, MAX_SENTENCES);
  const given = questions.training.length + labelled.training.length;
  return given + (sources.includes("spans") ? sentences : 0);
}

/** Examples of a source that a run will draw, of its iterations together. */
function drawn(
  { iterations, steps, questions, weights = {} }: ResolvedAdaptOptions,
  sources: readonly SourceName[],
  name: SourceName,
): number {
  const sum = sources.reduce((all, source) => all + (weights[source] ?? 1), 0);
  return Math.ceil((iterations * steps * questions * (weights[name] ?? 1)) / sum);
}

/** How many masked sentences are made for a run. */
export function wantedSentences(
  options: ResolvedAdaptOptions,
  sources: readonly SourceName[],
): number {
  return Math.max(
    MIN_MONITOR_SENTENCES,
    Math.min(MAX_SENTENCES, LOOKED_AT * drawn(options, sources, "spans")),
  );
}

/** @throws {InputError} for a corpus without a sentence to mask, where that is asked for. */
export async function* adaptationTask(
  options: ResolvedAdaptOptions,
  corpus: CorpusSurvey,
  { sources, questions, labelled }: AdaptationInputs,
): AsyncGenerator<ProgressEvent, TrainingTask> {
  const { seed, steps, questions: perStep, tagger, weights = {} } = options;
  const all = sources.includes("spans")
    ? yield* keptMaskedSentences(options, corpus, wantedSentences(options, sources), tagger)
    : [];
  const sentences = options.dev === undefined ? holdOut(all, seed) : { training: all, heldOut: [] };
  const tasks: Record<SourceName, () => TrainingTask> = {
    spans: () => maskedTask(options, corpus, sentences.training, options),
    questions: () => questionTask(options, corpus, questions.training),
    labels: () => labelTask(options, corpus, labelled.training),
  };
  const parts = sources.map(
    (name): MixedPart => ({ name, weight: weights[name] ?? 1, task: tasks[name]() }),
  );
  const task = mixedTask(parts, { examples: steps * perStep, seed });
  yield { type: "stage", name: "choosing what retrieval is watched with" };
  const monitor = await retrievalMonitor(options, corpus, {
    sentences: sentences.heldOut,
    known: [
      ...labelled.heldOut.map(({ question, relevant }) => ({
        question,
        relevant: relevant.map(({ passageId }) => passageId),
      })),
      ...(await withRelevant(options, corpus, questions.heldOut)),
    ],
  });
  const digest = createHash("sha256").update(
    JSON.stringify([task.digest, monitor.questions, monitor.every]),
  );
  return {
    ...task,
    digest: digest.digest("hex"),
    monitor: monitor.questions.length > 0 ? monitor : undefined,
  };
}

/**
 * The passages of masked sentences take part without these: to find them with the sentence would be no feat. Where documents are
 * of one sentence and nothing is left of any, they do so as they are: that shows at least whether retrieval falls away.
 */
async function retrievalMonitor(
  options: ResolvedAdaptOptions,
  corpus: CorpusSurvey,
  {
    sentences,
    known,
  }: { sentences: readonly SentenceWithMask[]; known: readonly MonitoredQuestion[] },
): Promise<RetrievalMonitor> {
  const ofPassage = new Map(sentences.map((masked) => [masked.passageId, masked]));
  const random = createRandom(options.seed, "probe");
  const ids = new Set([...known.flatMap(({ relevant }) => relevant), ...ofPassage.keys()]);
  const count = Math.min(corpus.ids.length, ids.size + MONITOR_PASSAGES);
  while (ids.size < count) ids.add(corpus.ids[random.integer(corpus.ids.length)]!);
  const passages = await pickPassages(options.corpus, ids, corpus.digest, options.signal);
  const questions = [...known];
  const left = [...ofPassage.values()].flatMap(
    (masked) => removeMaskedSentence(masked, passages.get(masked.passageId)!) ?? [],
  );
  for (const passage of left) passages.set(passage.id, passage);
  for (const id of left.length > 0 ? left.map((passage) => passage.id) : ofPassage.keys())
    questions.push({ question: ofPassage.get(id)!.question, relevant: [id] });
  return { questions, passages: [...passages.values()], every: options.monitorSteps };
}

/** A question's relevant passage is the one that it was asked about, or those of BM25's first 20 that hold an answer. */
async function withRelevant(
  options: ResolvedAdaptOptions,
  corpus: CorpusSurvey,
  questions: readonly TrainingQuestion[],
): Promise<MonitoredQuestion[]> {
  const asked = questions.flatMap(({ question, passageId }) =>
    passageId === undefined ? [] : { question, relevant: [passageId] },
  );
  const others = questions.filter(({ passageId }) => passageId === undefined);
  if (others.length === 0) return asked;
  const bm25 = await buildBm25(readPassages(options.corpus), options);
  const found = others.map(({ question }) =>
    bm25.search(question, MONITOR_DEPTH).map(({ id }) => id),
  );
  const passages = await pickPassages(options.corpus, found.flat(), corpus.digest, options.signal);
  const searched = others.map(({ question, answers }, i) => ({
    question,
    relevant: found[i]!.filter((id) => containsAnswer(passages.get(id)!.text, answers)),
  }));
  return [...asked, ...searched.filter(({ relevant }) => relevant.length > 0)];
}
