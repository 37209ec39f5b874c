/** What compression costs in quality: nDCG@10 on SciFact and R@20 by answer on SQuAD's development set, for each number of bits. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { containsAnswer } from "../../src/evaluation/answers.ts";
import { openBeir } from "../../src/evaluation/beir.ts";
import { evaluateRun } from "../../src/evaluation/ranking.ts";
import type { Hit, ReAtt } from "../../src/reatt.ts";
import type { Bits } from "../../src/retrieval/compression/codec.ts";
import { readManifest } from "../../src/retrieval/disk/manifest.ts";
import type { PresetName } from "../../src/retrieval/open.ts";
import { buildIndex } from "../../src/retrieval/tend/build.ts";
import { readPassages, readQuestions } from "../../src/text/corpus.ts";
import type { Passage } from "../../src/text/passage.ts";
import { firstOf, storedKeys } from "./corpus.ts";

export interface Quality {
  readonly bits: Bits | 32;
  readonly preset: PresetName;
  readonly value: number;
}

/** `limit` leaves out passages and questions after so many, for a trial: values are then too low, losses uncertain. */
export async function scifact(model: ReAtt, folder: string, limit: number): Promise<Quality[]> {
  const dataset = await openBeir(folder);
  const judgements = await dataset.judgements("test");
  const queries = [...judgements.keys()].slice(0, limit);
  const texts = queries.map((query) => dataset.queries.get(query)!);
  return compare(
    model,
    () => firstOf(dataset.passages(), limit),
    texts,
    100,
    (hits) => {
      const run = new Map(queries.map((query, i) => [query, hits[i]!]));
      return evaluateRun(run, judgements, [10]).measures["ndcg@10"]!;
    },
  );
}

export async function squad(model: ReAtt, folder: string, limit: number): Promise<Quality[]> {
  const questions = (await readQuestions(join(folder, "dev.jsonl"))).slice(0, limit);
  const texts = questions.map(({ question }) => question);
  return compare(
    model,
    () => firstOf(readPassages(join(folder, "corpus.jsonl")), limit),
    texts,
    20,
    (found) => {
      const answered = found.filter((hits, i) =>
        hits.some(({ text }) => containsAnswer(text, questions[i]!.answers!)),
      );
      return answered.length / questions.length;
    },
  );
}

/** A measure for float32 keys, and for each number of bits with each preset. */
async function compare(
  model: ReAtt,
  passages: () => AsyncIterable<Passage>,
  questions: readonly string[],
  topK: number,
  measure: (found: readonly Hit[][]) => number,
): Promise<Quality[]> {
  const folder = await mkdtemp(join(tmpdir(), "reatt-bench-"));
  const search = async (directory: string, preset: PresetName): Promise<number> => {
    await using index = await model.openIndex(directory, { preset });
    const found: Hit[][] = [];
    for (let first = 0; first < questions.length; first += 64)
      found.push(...(await model.retrieve(questions.slice(first, first + 64), index, { topK })));
    return measure(found);
  };
  try {
    const exact = join(folder, "exact");
    await (await model.index(passages(), { directory: exact }))[Symbol.asyncDispose]();
    const qualities: Quality[] = [{ bits: 32, preset: "exact", value: await search(exact, "exact") }];
    const { header } = await readManifest(exact);
    for (const bits of [1, 2, 4, 8] as const) {
      const directory = join(folder, `${bits}`);
      await using keys = await storedKeys(exact);
      await buildIndex(passages(), { directory, header, bits, encode: keys.encode });
      for (const preset of ["fast", "balanced", "exact"] as const)
        qualities.push({ bits, preset, value: await search(directory, preset) });
    }
    return qualities;
  } finally {
    await rm(folder, { recursive: true });
  }
}
