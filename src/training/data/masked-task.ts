/**
 * Training from documents alone: salient span masking with retrieval.
 *
 * Source: REALM (Guu et al. 2020), sections 3.3 and 3.4; ReAtt (Jiang et al. 2022), section 3.3.
 */

import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { containsAnswer } from "../../evaluation/answers.ts";
import { type ProgressEvent, reporting } from "../../io/progress.ts";
import { createRandom } from "../../math/random.ts";
import { buildBm25 } from "../../retrieval/bm25/bm25.ts";
import type { Passage } from "../../text/passage.ts";
import { readPassages } from "../../text/read-passages.ts";
import type { ResolvedOptions } from "../options/train-options.ts";
import {
  MASK,
  maskedSentences,
  removeMaskedSentence,
  type SentenceWithMask,
  type SourcePassage,
  type Tagger,
} from "../salient-spans/index.ts";
import { cachedCandidates } from "./cached-candidates.ts";
import { bm25Candidates, type CandidateRetriever } from "./candidates.ts";
import { type CorpusSurvey, pickPassages } from "./corpus.ts";
import { withNullPassages } from "./example-source.ts";
import { readMaskedSentences, writeMaskedSentences } from "./masked-sentences-file.ts";
import type { TrainingTask } from "./task.ts";
import type { TrainingQuestion } from "./training-questions.ts";

/** How sentences are masked, and what is read with them. */
export interface MaskingTaskOptions {
  /** How the passage that a sentence is from takes part. */
  readonly sourcePassage: SourcePassage;
  /** Whether one of the close passages is empty: for sentences that no passage helps with (REALM, section 3.4). */
  readonly nullPassage: boolean;
  readonly tagger?: Tagger | undefined;
}

/** The papers take 1 to 5 sentences of a passage. */
export const MAX_PER_PASSAGE = 5;
/** Close passages that are found beyond those needed, for those of which too little is left without the sentence. */
const SPARE = 4;

/**
 * Masked sentences of the corpus, about `wanted`: 1 to 5 of a passage, or one of each passage in a sample. Kept in the run's
 * folder.
 *
 * @throws {InputError} for a corpus without a usable sentence, and with `resume` for a file of another run.
 */
export async function* keptMaskedSentences(
  options: ResolvedOptions,
  corpus: CorpusSurvey,
  wanted: number,
  tagger?: Tagger,
): AsyncGenerator<ProgressEvent, SentenceWithMask[]> {
  const { out, resume, seed, signal, corpus: file } = options;
  const path = join(out, "masked-sentences.jsonl");
  const source = { corpus: corpus.digest, wanted, seed };
  if (!resume || !existsSync(path)) {
    yield { type: "stage", name: "masking sentences", total: corpus.ids.length };
    yield* reporting<ProgressEvent, void>((report) => {
      const passages = counted(readPassages(file, signal), (done) =>
        report({ type: "progress", done }),
      );
      return writeMaskedSentences(
        path,
        source,
        sampledSentences(passages, corpus, { wanted, seed, tagger }),
      );
    });
  }
  return readMaskedSentences(path, source, readPassages(file, signal));
}

/** The same for the same seed, whatever the order of the corpus. */
export function sampledSentences(
  passages: AsyncIterable<Passage>,
  corpus: CorpusSurvey,
  { wanted, seed, tagger }: { wanted: number; seed: number; tagger?: Tagger | undefined },
): AsyncGenerator<SentenceWithMask, unknown> {
  const size = corpus.ids.length;
  const perPassage = Math.max(1, Math.min(MAX_PER_PASSAGE, Math.ceil(wanted / size)));
  const share = wanted / (size * perPassage);
  const taken = filtered(
    passages,
    ({ id }) => createRandom(seed, "passages to mask", id).next() < share,
  );
  return maskedSentences(taken, { perPassage, seed, ...(tagger && { tagger }) });
}

/** Masked sentences looked at for each that is trained on: about every second one can be answered. */
export const LOOKED_AT = 2;

/**
 * Reads masked sentences with their close passages, in none of which the sentence can be read, and writes what was masked.
 *
 * Where what was masked stands in none of the passages, they teach nothing about which of them helps: such sentences are left out, unless
 * there are no others, or a null passage is there for them.
 */
export function maskedTask(
  options: ResolvedOptions,
  corpus: CorpusSurvey,
  sentences: readonly SentenceWithMask[],
  masking: MaskingTaskOptions,
): TrainingTask {
  const { candidatesPerQuestion, seed, steps, questions: perStep, signal } = options;
  const count = Math.max(
    candidatesPerQuestion,
    Math.min(candidatesPerQuestion + SPARE, corpus.ids.length),
  );
  return {
    digest: digestSentences(sentences, masking),
    async *prepare(iteration, search) {
      const order = createRandom(seed, "sentences", iteration).shuffle(sentences);
      const chosen = order.slice(0, LOOKED_AT * steps * perStep);
      const close = yield* cachedCandidates(options, corpus, {
        name: `close-passages-spans-${iteration}.jsonl`,
        questions: chosen.map((masked) => asQuestion(masked, masking.sourcePassage)),
        count,
        search: async () =>
          search ??
          withoutMask(bm25Candidates(await buildBm25(readPassages(options.corpus), options))),
      });
      const passages = await pickPassages(options.corpus, close.flat(), corpus.digest, signal);
      const readWith = (index: number): Passage[] =>
        readable(
          chosen[index]!,
          close[index]!.map((id) => passages.get(id)!),
          candidatesPerQuestion,
          masking,
        );
      const all = [...chosen.keys()];
      const isAnswered = (index: number): boolean =>
        isReadIn(readWith(index), chosen[index]!.entity);
      const answered = masking.nullPassage ? all : all.filter(isAnswered);
      const used = answered.length > 0 ? answered : all;
      return {
        size: Math.min(used.length, steps * perStep),
        example(at) {
          const index = used[at]!;
          const { question, entity, passageId } = chosen[index]!;
          const read = readWith(index);
          const place = read.findIndex(({ id }) => id === passageId);
          return {
            question,
            answer: entity,
            passages: read,
            relevant: place < 0 ? undefined : place,
          };
        },
      };
    },
  };
}

/** `count` passages, best first, without the masked sentence: its own among them, unless it is left out or nothing is left of it. */
export function readable(
  masked: SentenceWithMask,
  found: readonly Passage[],
  count: number,
  { sourcePassage, nullPassage }: MaskingTaskOptions,
): Passage[] {
  const room = nullPassage ? count - 1 : count;
  const left = found.flatMap(
    (passage) => removeMaskedSentence(masked, passage, sourcePassage) ?? [],
  );
  const own = left.find(({ id }) => id === masked.passageId);
  const best = left.slice(0, room);
  if (own && room > 0 && !best.includes(own)) best[room - 1] = own;
  return withNullPassages(best, count);
}

const isReadIn = (passages: readonly Passage[], entity: string): boolean =>
  passages.some(
    ({ title, text }) => containsAnswer(title, [entity]) || containsAnswer(text, [entity]),
  );

function asQuestion(
  { question, entity, passageId, sentence }: SentenceWithMask,
  sourcePassage: SourcePassage,
): TrainingQuestion {
  const id = `${passageId}:${sentence.start}-${sentence.end}`;
  const own = sourcePassage === "excluded" ? {} : { passageId };
  return { id, question, answers: [entity], ...own };
}

/** BM25 would look for the words of the mask. */
const withoutMask =
  (search: CandidateRetriever): CandidateRetriever =>
  (questions, topK) =>
    search(
      questions.map((question) => ({
        ...question,
        question: question.question.replace(MASK, " "),
      })),
      topK,
    );

function digestSentences(
  sentences: readonly SentenceWithMask[],
  { sourcePassage, nullPassage }: MaskingTaskOptions,
): string {
  const hash = createHash("sha256").update(JSON.stringify([sourcePassage, nullPassage]));
  for (const { passageId, question, entity } of sentences)
    hash.update(JSON.stringify([passageId, question, entity]));
  return hash.digest("hex");
}

async function* filtered<T>(
  items: AsyncIterable<T>,
  keep: (item: T) => boolean,
): AsyncGenerator<T, void> {
  for await (const item of items) if (keep(item)) yield item;
}

async function* counted<T>(
  items: AsyncIterable<T>,
  report: (done: number) => void,
): AsyncGenerator<T, void> {
  let done = 0;
  for await (const item of items) {
    yield item;
    report(++done);
  }
}
