/**
 * Quality of compressed indexes: nDCG@10 on SciFact and R@20 by answer on SQuAD's development set,
 * for each number of bits, and at 2 bits for each share of kept tokens.
 */

import { join } from "node:path";
import { containsAnswer } from "../../src/evaluation/answers.ts";
import { openBeir } from "../../src/evaluation/beir.ts";
import { evaluateRun } from "../../src/evaluation/ranking.ts";
import { hitLists } from "../../src/reatt/retrieving.ts";
import type { Hit, ReAtt } from "../../src/reatt.ts";
import { indexInfo } from "../../src/retrieval/maintain.ts";
import type { PresetName } from "../../src/retrieval/places/folder/open-engine.ts";
import type { Passage } from "../../src/text/passage.ts";
import { readPassages, readQuestions } from "../../src/text/read-passages.ts";
import { compress } from "./compress.ts";
import { encode, firstOf } from "./corpus.ts";

export interface Quality {
  readonly bits: number;
  /** Share of the tokens that are indexed. */
  readonly keepTokens: number;
  readonly preset: PresetName;
  /** Bytes of the index per token of the corpus. */
  readonly bytesPerToken: number;
  readonly value: number;
}

/** Questions with labelled passages. */
export interface Collection {
  readonly passages: () => AsyncIterable<Passage>;
  readonly questions: readonly string[];
  /** Passages to retrieve for each question. */
  readonly topK: number;
  readonly measure: (found: readonly (readonly Hit[])[]) => number;
}

/** `limit` cuts passages and questions for a trial: the values are then not comparable. */
export async function scifact(folder: string, limit: number): Promise<Collection> {
  const dataset = await openBeir(folder);
  const qrels = await dataset.qrels("test");
  const queries = [...qrels.keys()].slice(0, limit);
  return {
    passages: () => firstOf(dataset.passages(), limit),
    questions: queries.map((query) => dataset.queries.get(query)!),
    topK: 100,
    measure: (found) => {
      const run = new Map(queries.map((query, i) => [query, [...found[i]!]]));
      return evaluateRun(run, qrels, [10]).measures["ndcg@10"]!;
    },
  };
}

export async function squad(folder: string, limit: number): Promise<Collection> {
  const questions = (await readQuestions(join(folder, "dev.jsonl"))).slice(0, limit);
  return {
    passages: () => firstOf(readPassages(join(folder, "corpus.jsonl")), limit),
    questions: questions.map(({ question }) => question),
    topK: 20,
    measure: (found) => {
      const answered = found.filter((hits, i) =>
        hits.some(({ text }) => containsAnswer(text, questions[i]!.answers!)),
      );
      return answered.length / questions.length;
    },
  };
}

/** Quality of float32 keys, of each number of bits and preset, and of token pruning at 2 bits. */
export async function* qualities(
  model: ReAtt,
  collection: Collection,
  folder: string,
): AsyncGenerator<Quality, void> {
  const exact = join(folder, "exact");
  const { tokens } = await encode(model, collection.passages(), exact);
  const measure = async (directory: string, preset: PresetName): Promise<Quality> => {
    const { bits, bytes, header } = await indexInfo(directory);
    const value = await searchAll(model, collection, directory, preset);
    return {
      bits,
      keepTokens: header.keepTokens ?? 1,
      preset,
      bytesPerToken: bytes / tokens,
      value,
    };
  };
  yield await measure(exact, "exact");
  for (const bits of [1, 2, 4, 8] as const) {
    const directory = join(folder, `bits ${bits}`);
    await compress({ exact, directory, bits });
    for (const preset of ["fast", "balanced", "exact"] as const)
      yield await measure(directory, preset);
  }
  for (const share of [0.75, 0.5, 0.25]) {
    const filtered = join(folder, `exact, ${share} of the tokens`);
    const directory = join(folder, `bits 2, ${share} of the tokens`);
    await encode(model, collection.passages(), filtered, share);
    yield await measure(filtered, "exact");
    await compress({ exact: filtered, directory, bits: 2 });
    for (const preset of ["balanced", "exact"] as const) yield await measure(directory, preset);
  }
}

/** Questions whose vectors are in memory at the same time. */
const QUESTIONS_PER_BATCH = 64;

async function searchAll(
  model: ReAtt,
  { questions, topK, measure }: Collection,
  directory: string,
  preset: PresetName,
): Promise<number> {
  await using index = await model.openIndex(directory, { preset });
  const found: Hit[][] = [];
  for (let first = 0; first < questions.length; first += QUESTIONS_PER_BATCH)
    found.push(
      ...(await hitLists(
        model.retrieve(questions.slice(first, first + QUESTIONS_PER_BATCH), index, {
          topK,
          hybrid: false,
        }),
      )),
    );
  return measure(found);
}
