/** Finds phrases of an index that answer questions, without reading. */

import { encodeSequences } from "../encoder/retriever-session.ts";
import { InputError } from "../io/errors.ts";
import type { HybridOptions } from "../retrieval/hybrid.ts";
import type { FoundPassage } from "../retrieval/rank.ts";
import type { IndexGeneration } from "../retrieval/search/generation.ts";
import type { TokenIndex } from "../retrieval/search/token-index.ts";
import { type PhraseRequest, searchPhrases } from "../retrieval/search-phrases.ts";
import type { Passage } from "../text/passage.ts";
import type { Span } from "../text/span.ts";
import { windowPlaces } from "../text/tokens/token-places.ts";
import { type LoadedModel, tokenize } from "./loaded-model.ts";
import { find, type Hit, noticeChanges, tokensInIndex } from "./retrieving.ts";

/** A phrase that answers a question, with its passage. `score` is that of the phrase. */
export interface Phrase extends Hit {
  /** The score of the phrase. Higher is better. */
  readonly score: number;
  /** The characters of `span` in `text`. */
  readonly answer: string;
  /** Where the phrase is in `text`. */
  readonly span: Span;
}

/**
 * The best phrases for each question: of the whole index, or with `hybrid` of the passages that
 * hybrid search finds.
 *
 * @throws {InputError} if the model has no phrase queries, or hybrid search is to rank anything
 * but passages
 */
export async function findPhrases(
  model: LoadedModel,
  questions: readonly string[],
  index: TokenIndex,
  request: PhraseRequest,
  hybrid: HybridOptions | undefined,
): Promise<Phrase[][]> {
  if (!model.config.phraseQueries) throw noPhraseQueries(model.folder, index.directory);
  if (hybrid && request.granularity !== "passage") throw hybridPhrases(request.granularity);
  const { topK, where, filter, signal } = request;
  const tokenized = questions.map((text) => tokenize(model, text));
  const ids = tokenized.map((question) => question.ids);
  const { queryEncoder } = model.retriever;
  await noticeChanges(index, { filter, hybrid });
  const vectors = await encodeSequences(queryEncoder, model.config, ids, "phrases", { signal });
  if (!hybrid) return index.snapshot((own) => phrasesOf(model, own, vectors, request));
  const ranking = { topK, where, filter, hybrid, signal, granularity: "passage" } as const;
  const hits = await find(model, tokenized, index, ranking);
  return index.snapshot((own) =>
    Promise.all(
      hits.map(({ passages }, i) => phrasesOfHits(model, own, vectors[i]!, passages, request)),
    ),
  );
}

async function phrasesOf(
  model: LoadedModel,
  generation: IndexGeneration,
  vectors: readonly Float32Array[],
  request: PhraseRequest,
): Promise<Phrase[][]> {
  const found = await searchPhrases(generation, vectors, request, async (passage, keys) => {
    const isOwner = ({ collection }: IndexGeneration) => collection === passage.collection;
    const { header } = generation.members.find(isOwner) ?? generation;
    const { windows, kept } = await tokensInIndex(model, passage, header, keys);
    return windowPlaces(model.tokenizer, passage.text, windows, kept);
  });
  return Promise.all(
    found.map(async (phrases) => {
      const passages = await generation.passages(phrases.map(({ ordinal }) => ordinal));
      return phrases.map(({ score, span }, i) => {
        const passage = passages[i]!;
        return { ...passage, score, answer: passage.text.slice(span.start, span.end), span };
      });
    }),
  );
}

/** The best phrase of each hit of a question. A passage without a phrase is left out. */
async function phrasesOfHits(
  model: LoadedModel,
  generation: IndexGeneration,
  vectors: Float32Array,
  hits: readonly FoundPassage[],
  { granularity, topK, signal }: PhraseRequest,
): Promise<Phrase[]> {
  const most = topK * generation.members.length; // each can have a passage with the id
  const filter = new Set(hits.map(({ passage }) => passage.id));
  const request = { granularity, topK: most, signal, filter, where: undefined };
  const [phrases] = await phrasesOf(model, generation, [vectors], request);
  const keyOf = ({ id, collection = "" }: Passage) => `${collection}\0${id}`;
  const byKey = new Map(phrases!.map((phrase) => [keyOf(phrase), phrase]));
  return hits.flatMap(({ passage }) => byKey.get(keyOf(passage)) ?? []);
}

const hybridPhrases = (granularity: string): InputError =>
  new InputError({
    where: "hybrid",
    expected: 'granularity "passage", because hybrid search ranks passages',
    got: JSON.stringify(granularity),
    remedy: "give that granularity, or leave hybrid out",
  });

const noPhraseQueries = (folder: string, index: string): InputError =>
  new InputError({
    where: folder,
    expected: "a model with phrase queries",
    got: "one without",
    remedy:
      `train them: reatt train phrases --model ${folder} --index ${index} ` +
      "--data QUESTIONS.jsonl --out DIR",
  });
