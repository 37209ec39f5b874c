/** From examples to candidate lists: what each question is read with, for all sources alike. */

import { createHash } from "node:crypto";
import { join } from "node:path";
import { z } from "zod";
import { isExpression } from "../../evaluation/answer-expressions.ts";
import { containsAnswer } from "../../evaluation/answers.ts";
import { canonicalJson } from "../../io/json/canonical-json.ts";
import { type ProgressEvent, reporting } from "../../io/progress.ts";
import { createRandom } from "../../math/random.ts";
import { NULL_PASSAGE, type Passage } from "../../text/passage.ts";
import {
  type CandidateRetriever,
  checkCandidateCount,
  findCandidates,
  firstCandidates,
  givenCandidates,
  scoredCandidates,
  withPassage,
} from "./candidates.ts";
import type { Corpus } from "./corpus.ts";
import { withAnswerPositives } from "./corpus-answers.ts";
import { type Example, readAs } from "./example.ts";
import { kept } from "./kept.ts";
import { nearCopies } from "./near-copies.ts";
import { relevanceTarget } from "./sources/labels.ts";
import { clipped } from "./sources/readable.ts";
import { drawsFor, type SourceTraits } from "./sources/source.ts";
import type { TextExample, TextExamples } from "./step.ts";
import type { TrainingData } from "./training-data.ts";

/** What candidate lists depend on. */
export interface CandidateSettings {
  readonly seed: number;
  /** Steps of an iteration. */
  readonly steps: number;
  /** Questions of a step. */
  readonly questions: number;
  readonly candidatesPerQuestion: number;
  /** Whether one candidate is empty, for questions that need no passage (REALM, section 3.4). */
  readonly nullPassage: boolean;
  readonly maxPassageTokens: number;
  /** Whether the answer is read: to learn it, or to teach retrieval. */
  readonly learnsReading: boolean;
  /** Whether a relevance label is generated, with the passage behind it. */
  readonly generatesLabels: boolean;
  /** Whether retrieval is trained with passages that are known to be relevant. */
  readonly learnsRelevance: boolean;
  /** Folder of the run. */
  readonly folder: string;
  readonly resume: boolean;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Resemblance of passages that say the same. Records of one form, which differ in facts, have less.
 */
const SAME = 0.8;
/** Candidates beyond those to read, because a removal can leave a passage empty. */
const SPARE_CANDIDATES = 4;

/** Draws with a name other than that of their source: a seed gives the same as ever. */
const DRAW_NAMES: Readonly<Record<string, string>> = {
  spans: "sentences",
  questions: "items",
  labels: "items",
};

/**
 * The examples of a source with their candidates, for each iteration.
 *
 * An example can train reading if a candidate contains the answer, or if a null passage serves it;
 * one of a file always can. It can train retrieval if a relevant passage is a candidate, or if a
 * file gives scores. Examples that can train nothing are left out, so there may be none.
 *
 * @throws {InputError} if the corpus has too few passages.
 */
export function withCandidates(
  settings: CandidateSettings,
  corpus: Corpus,
  source: SourceTraits,
  examples: readonly Example[],
): TrainingData {
  const { candidatesPerQuestion, nullPassage, learnsReading, seed, signal } = settings;
  const room = nullPassage ? candidatesPerQuestion - 1 : candidatesPerQuestion;
  checkCandidateCount(room, corpus.size); // now, not after the model has been measured
  const spare = examples.some(({ removal }) => removal) ? SPARE_CANDIDATES : 0;
  const count = Math.min(room + spare, corpus.size);
  return {
    digest: digestOf(examples),
    async *examples(iteration, retriever) {
      const drawn = drawExamples(settings, source, examples, iteration);
      const used = learnsReading ? drawn : yield* withAnswerPositives(drawn, corpus, signal);
      const open = async (): Promise<CandidateRetriever> => {
        const found = retriever ?? (await firstCandidates(examples, corpus, count));
        return learnsReading ? found : scoredCandidates(found);
      };
      const given = retriever ? 0 : givenCandidates(used, count);
      if (given > 0) {
        const name = `${given} of ${count * used.length} candidates are given, BM25 finds others`;
        yield { type: "stage", name };
      }
      const name = candidatesFile(source, iteration);
      const candidates = yield* keptCandidates(settings, corpus, name, used, count, open);
      const labelled = used.flatMap(({ labels, relevant }) => (labels ? relevant : []));
      const passages = await corpus.pick([...candidates.flat(), ...labelled]);
      const copies = await copiesOfRelevant(used, passages);
      return readable(used, candidates, passages, copies, settings, `${seed} ${iteration}`);
    },
  };
}

/** Where the candidates of an iteration are kept, in the folder of the run. */
export const candidatesFile = ({ name }: SourceTraits, iteration: number): string =>
  `candidates-${name}-${iteration}.jsonl`;

/** All examples in their order, or a random subset if an iteration reads fewer. */
function drawExamples(
  { seed, steps, questions }: CandidateSettings,
  source: SourceTraits,
  examples: readonly Example[],
  iteration: number,
): readonly Example[] {
  const { name, draws } = source;
  const count = drawsFor(source, steps * questions);
  if (draws === 1 && examples.length <= count) return examples;
  const random = createRandom(seed, DRAW_NAMES[name] ?? name, iteration);
  return random.shuffle(examples).slice(0, count);
}

/** The ids of the candidates [examples][count]. A resumed run reads the same. */
async function* keptCandidates(
  { folder, resume, seed, signal }: CandidateSettings,
  corpus: Corpus,
  name: string,
  examples: readonly Example[],
  count: number,
  open: () => Promise<CandidateRetriever>,
): AsyncGenerator<ProgressEvent, readonly (readonly string[])[]> {
  const identity = {
    "number of candidates": count,
    corpus: corpus.digest,
    "training data": digestOf(examples),
  };
  const item = z.array(z.string()).length(count);
  const file = { file: join(folder, name), resume, noun: "candidates", identity, item };
  return yield* kept(file, async function* () {
    yield { type: "stage", name: "finding candidates", total: examples.length };
    const retriever = await open();
    return yield* reporting<ProgressEvent, string[][]>((report) =>
      findCandidates(examples, {
        retriever,
        count,
        seed,
        signal,
        corpusIds: corpus.ids,
        onProgress: (done) => report({ type: "progress", done }),
      }),
    );
  });
}

/**
 * For each example, the near copies of its relevant passages among `passages`: they are as
 * relevant, so they are no candidates and no negatives.
 */
async function copiesOfRelevant(
  examples: readonly Example[],
  passages: ReadonlyMap<string, Passage>,
): Promise<readonly (readonly string[])[]> {
  const groupOf = await nearCopies(passages.values(), SAME);
  const groups = new Map<string, string[]>();
  for (const id of passages.keys()) {
    const group = groups.get(groupOf(id));
    if (group) group.push(id);
    else groups.set(groupOf(id), [id]);
  }
  return examples.map(({ relevant }) =>
    relevant.flatMap((id) => groups.get(groupOf(id)) ?? []).filter((id) => !relevant.includes(id)),
  );
}

/** The examples that can train something, by index. */
function readable(
  examples: readonly Example[],
  candidates: readonly (readonly string[])[],
  passages: ReadonlyMap<string, Passage>,
  copies: readonly (readonly string[])[],
  settings: CandidateSettings,
  seed: string,
): TextExamples {
  const read = (place: number, step: number): TextExample | undefined => {
    const example = examples[place]!;
    const target = drawTarget(example, passages, { seed, step });
    const ids = candidates[place]!;
    const found = withPassage(ids, target?.passageId, ids.length)
      .filter((id) => !copies[place]!.includes(id))
      .map((id) => clipped(passages.get(id)!, settings.maxPassageTokens));
    const read = readExample(example, target?.text, found, settings);
    return read && { ...read, copies: copies[place] };
  };
  const used = [...examples.keys()].filter((place) => read(place, 0) !== undefined);
  return {
    size: Math.min(used.length, settings.steps * settings.questions),
    example: (place, step) => read(used[place]!, step)!,
  };
}

/** A text to generate. With a passage, it is the text of that passage after its label. */
interface Target {
  readonly text: string;
  readonly passageId?: string | undefined;
}

/** One of the texts to generate, by seed, step and example: a resumed run draws the same. */
function drawTarget(
  { id, answers, labels, relevant }: Example,
  passages: ReadonlyMap<string, Passage>,
  { seed, step }: { readonly seed: string; readonly step: number },
): Target | undefined {
  if (!labels) {
    const texts = answers.filter((answer) => !isExpression(answer));
    const place = texts.length > 1 ? createRandom(seed, "answer", step, id) : undefined;
    const text = texts[place?.integer(texts.length) ?? 0];
    return text === undefined ? undefined : { text };
  }
  const place = createRandom(seed, "relevant passage", step, id).integer(labels.length);
  const passageId = relevant[place]!;
  return { text: relevanceTarget(labels[place]!, passages.get(passageId)!), passageId };
}

/**
 * The example with its best candidates, a relevant one among them if there is any; undefined if it
 * can train nothing.
 */
function readExample(
  example: Example,
  target: string | undefined,
  found: readonly Passage[],
  settings: CandidateSettings,
): TextExample | undefined {
  const { candidatesPerQuestion, nullPassage, learnsReading, learnsRelevance } = settings;
  const { answers, contexts = [], relevant, removal, scores } = example;
  const room = nullPassage ? candidatesPerQuestion - 1 : candidatesPerQuestion;
  const left = removal ? found.flatMap((passage) => readAs(removal, passage) ?? []) : found;
  const known = left.find(({ id }) => relevant.includes(id));
  const passages = left.slice(0, room);
  if (known && !passages.includes(known)) passages[room - 1] = known;
  const contains = ({ title, text }: Passage): boolean =>
    containsAnswer(title, answers) || containsAnswer(text, answers);
  const isServed = nullPassage && learnsReading;
  const isAnswered = (): boolean => isServed || passages.some(contains);
  const isText = target !== undefined && (!example.labels || settings.generatesLabels);
  const trainsReading = isText && (!removal || isAnswered());
  const trainsRetrieval = learnsRelevance && (known !== undefined || scores !== undefined);
  if (!trainsReading && !trainsRetrieval) return undefined;
  // Without reading, and without a known passage, those that contain an answer are relevant.
  const isKnown = learnsReading || known !== undefined || !removal;
  return {
    question: example.question,
    answer: target ?? "",
    passages: nullPassage ? [...passages, NULL_PASSAGE] : passages,
    scores: learnsReading
      ? undefined
      : scores && passages.map(({ id }) => scores[contexts.indexOf(id)]),
    relevant: isKnown ? relevant : [],
    answers: [...new Set(answers)],
    retrievalOnly: !trainsReading,
  };
}

/** SHA-256 of the examples: a run is resumed only with the same. */
function digestOf(examples: readonly Example[]): string {
  const hash = createHash("sha256");
  for (const example of examples) hash.update(canonicalJson(example));
  return hash.digest("hex");
}
