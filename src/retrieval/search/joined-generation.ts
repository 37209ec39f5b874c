/**
 * Generations of several indexes as one. The passages of the second stand behind those of the
 * first: their ordinals go on. Each index is searched with its own keys and codebook, and the
 * scores, which are products of the same vectors, are ranked together. The words of all are
 * counted together, so BM25 has the statistics of one index.
 */

import type { Passage } from "../../text/passage.ts";
import { rotate, rotateBack } from "../codec/opq-rotation.ts";
import type { IndexHeader } from "../index/format/manifest.ts";
import type { PassageFields } from "../index/format/packed-passage.ts";
import { openStore } from "../index/format/store.ts";
import { type Ranking, ranked } from "../scoring/top-k.ts";
import type { SearchAlso, SearchEngine, SearchRequest } from "./engine.ts";
import { IndexGeneration, type OpenParts } from "./generation.ts";
import type { PassageScorer } from "./passage-scorer.ts";
import { openStoredWords } from "./stored-words.ts";

/** An index among others: the first of its ordinals, and how many it has. */
interface Part {
  readonly generation: IndexGeneration;
  readonly parts: OpenParts;
  readonly base: number;
  readonly count: number;
}

/** @param members of one model, in folders, with names that differ */
export function joinGenerations(members: readonly IndexGeneration[]): IndexGeneration {
  const parts = partsOf(members);
  const segments = members.flatMap((member) => member.parts.segments!);
  const ownerOf = (ordinal: number): Part => parts.findLast(({ base }) => base <= ordinal)!;
  const named = (collection: string | undefined): IndexGeneration =>
    members.find((member) => member.collection === collection) ?? members[0]!;
  return new IndexGeneration({
    directory: members.map(({ directory }) => directory).join(", "),
    collection: members.map(({ collection }) => collection).join(", "),
    manifest: {
      header: commonHeader(members.map(({ header }) => header)),
      generation: members.reduce((sum, { generation }) => sum + generation, 0),
    },
    store: joinedStore(openStore(segments, members[0]!.header.dimension), parts, ownerOf),
    segments,
    engine: joinedEngine(parts),
    scorer: joinedScorer(parts),
    openWords: () => openStoredWords(segments),
    joined: {
      members,
      ownerOf: (ordinal) => ownerOf(ordinal).generation,
      linkOf: (passage) => named(passage.collection).linkOf(passage),
    },
  });
}

function partsOf(members: readonly IndexGeneration[]): Part[] {
  let next = 0;
  return members.map((generation) => {
    const { parts } = generation;
    const [base, count] = [next, parts.store.ordinalCount];
    next += count;
    return { generation, parts, base, count };
  });
}

/** Passages are read as long as in the index with the longest; states count if all have them. */
function commonHeader(headers: readonly IndexHeader[]): IndexHeader {
  const { states, linkBase: _, ...first } = headers[0]!;
  const haveStates = headers.every((header) => header.states?.fingerprint === states?.fingerprint);
  const maxPassageTokens = Math.max(...headers.map((header) => header.maxPassageTokens));
  return { ...first, maxPassageTokens, ...(haveStates && states && { states }) };
}

/** A field `collection` says which index a passage is in, for conditions and descriptions. */
function joinedStore(
  store: ReturnType<typeof openStore>,
  parts: readonly Part[],
  ownerOf: (ordinal: number) => Part,
): OpenParts["store"] {
  const nameOf = (ordinal: number): string => ownerOf(ordinal).generation.collection;
  const marked = (ordinal: number, passage: Passage): Passage => ({
    ...passage,
    collection: nameOf(ordinal),
  });
  const withField = (ordinal: number, fields: PassageFields): [number, PassageFields] => [
    ordinal,
    { ...fields, metadata: { ...fields.metadata, collection: nameOf(ordinal) } },
  ];
  return {
    ...store,
    passage: async (ordinal) => marked(ordinal, await store.passage(ordinal)),
    async *entries() {
      for await (const [ordinal, passage] of store.entries())
        yield [ordinal, marked(ordinal, passage)];
    },
    async *fields() {
      let next = 0;
      for await (const [ordinal, fields] of store.fields()) {
        for (; next < ordinal; next++) yield withField(next, {});
        yield withField(next++, fields);
      }
      for (; next < store.ordinalCount; next++) yield withField(next, {});
    },
    async find(id, collection) {
      for (const { generation, parts: own, base } of parts) {
        if (collection !== undefined && generation.collection !== collection) continue;
        const found = await own.store.find(id);
        if (found !== undefined) return base + found;
      }
      return undefined;
    },
    /** Those of a codebook turned back: a question is compared with the keys of all. */
    async keys(ordinal) {
      const { parts: own, base } = ownerOf(ordinal);
      const keys = await own.store.keys(ordinal - base);
      return own.codebook ? rotateBack(keys, own.codebook.rotation, store.dimension) : keys;
    },
  };
}

function joinedEngine(parts: readonly Part[]): SearchEngine {
  const requestOf = ({ base }: Part, { accept, ...request }: SearchRequest): SearchRequest => ({
    ...request,
    accept: (ordinal) => accept(base + ordinal),
  });
  const searchAlso: SearchAlso = async (questions, also, request) => {
    const lists = await ofEach(parts, (part) =>
      part.parts.engine.searchAlso!(
        questions.map((question) => rotatedFor(part, question)),
        also.map((ordinals) => placesIn(part, ordinals).map((at) => ordinals[at]! - part.base)),
        requestOf(part, request),
      ),
    );
    return questions.map((_, i) => bestAnd(joined(parts, lists, i), request.topK, also[i]!));
  };
  return {
    async search(questions, request) {
      const lists = await ofEach(parts, (part) =>
        part.parts.engine.search(
          questions.map((question) => rotatedFor(part, question)),
          requestOf(part, request),
        ),
      );
      return questions.map((_, i) => ranked(joined(parts, lists, i), request.topK));
    },
    ...(parts.every((part) => part.parts.engine.searchAlso) && { searchAlso }),
    async [Symbol.asyncDispose]() {},
  };
}

function joinedScorer(parts: readonly Part[]): PassageScorer {
  return {
    async score(question, ordinals) {
      const scores = new Float64Array(ordinals.length);
      for (const part of parts) {
        const places = placesIn(part, ordinals);
        if (places.length === 0) continue;
        const own = places.map((at) => ordinals[at]! - part.base);
        const found = await part.parts.scorer.score(rotatedFor(part, question), own);
        for (const [i, at] of places.entries()) scores[at] = found[i]!;
      }
      return scores;
    },
    async best(questions, ordinals, topK, signal) {
      const lists = await ofEach(parts, (part) => {
        const own = placesIn(part, ordinals).map((at) => ordinals[at]! - part.base);
        const rotated = questions.map((question) => rotatedFor(part, question));
        return part.parts.scorer.best(rotated, own, topK, signal);
      });
      return questions.map((_, i) => ranked(joined(parts, lists, i), topK));
    },
    async [Symbol.asyncDispose]() {},
  };
}

/** One after the other: each search uses all cores. */
async function ofEach<Result>(
  parts: readonly Part[],
  work: (part: Part) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const part of parts) results.push(await work(part));
  return results;
}

/** The question in the space of the keys of an index. */
const rotatedFor = ({ parts: { codebook }, generation }: Part, question: Float32Array) =>
  codebook ? rotate(question, codebook.rotation, generation.header.dimension) : question;

/** Where a list has passages of an index. */
const placesIn = ({ base, count }: Part, ordinals: Uint32Array): Uint32Array =>
  Uint32Array.from(ordinals.keys()).filter(
    (at) => ordinals[at]! >= base && ordinals[at]! < base + count,
  );

/** The rankings of question `i` in all indexes, unsorted. */
const joined = (
  parts: readonly Part[],
  lists: readonly (readonly Ranking[])[],
  i: number,
): Ranking => ({
  ordinals: Uint32Array.from(
    parts.flatMap(({ base }, at) => Array.from(lists[at]![i]!.ordinals, (own) => base + own)),
  ),
  scores: Float64Array.from(lists.flatMap((found) => [...found[i]!.scores])),
});

/** The `topK` best, and those of `also` behind them. */
function bestAnd(all: Ranking, topK: number, also: Uint32Array): Ranking {
  const { ordinals, scores } = ranked(all);
  const wanted = new Set(also);
  const places = Uint32Array.from(ordinals.keys()).filter(
    (at) => at < topK || wanted.has(ordinals[at]!),
  );
  return {
    ordinals: places.map((at) => ordinals[at]!),
    scores: Float64Array.from(places, (at) => scores[at]!),
  };
}
