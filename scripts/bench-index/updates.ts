/**
 * Changes while others read: a second process searches, in a state that it opens anew every few searches, while passages
 * are added and deleted here. A passage keeps its score whatever is changed around it; the process checks that.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { ReAtt } from "../../src/reatt.ts";
import { openIndex } from "../../src/retrieval/open.ts";
import { deletePassages } from "../../src/retrieval/tend/update.ts";
import { TOP_K } from "./search.ts";

const SEARCHES_A_STATE = 10;

export interface UpdateTimes {
  /** Milliseconds of each change, an addition or a deletion of one passage. */
  readonly changes: readonly number[];
  /** Milliseconds of each search of the other process, opening included where it opened. */
  readonly searches: readonly number[];
  /** Searches that found too few passages, or one with another score than before. */
  readonly wrong: number;
}

interface SearchReport {
  readonly times: readonly number[];
  readonly wrong: number;
}

/** `changes` 0 measures the searches alone. `questions` is a file of vectors that the other process reads. */
export async function timeUpdates(
  model: ReAtt,
  directory: string,
  questions: string,
  { changes, searches }: { readonly changes: number; readonly searches: number },
): Promise<UpdateTimes> {
  const child = spawn(
    process.execPath,
    ["--import", "tsx", fileURLToPath(import.meta.url), directory, questions, String(searches)],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  const ended = once(child, "close");
  let output = "";
  child.stdout.on("data", (data) => {
    output += data;
  });
  const times: number[] = [];
  for (let i = 0; i < changes; i++) {
    const start = performance.now();
    if (i % 2 === 1) await deletePassages([`added-${i - 1}`], { directory });
    else {
      const passage = { id: `added-${i}`, title: "", text: `The ship ${i} sailed to port ${i % 97}.` };
      await (await model.add([passage], { directory }))[Symbol.asyncDispose]();
    }
    times.push(performance.now() - start);
  }
  const [code] = await ended;
  if (code !== 0) throw new Error(`the searching process ended with ${code}`);
  const report: SearchReport = JSON.parse(output);
  return { changes: times, searches: report.times, wrong: report.wrong };
}

/** One vector file for both processes: [tokens, dimension] of each question. */
export async function writeQuestions(path: string, questions: readonly Float32Array[]): Promise<void> {
  await writeFile(path, JSON.stringify(questions.map((question) => Array.from(question))));
}

async function searchOverAndOver(directory: string, file: string, searches: number): Promise<SearchReport> {
  const vectors: number[][] = JSON.parse(await readFile(file, "utf8"));
  const questions = vectors.map((vector) => Float32Array.from(vector));
  const known = questions.map(() => new Map<string, number>());
  const times: number[] = [];
  let wrong = 0;
  while (times.length < searches) {
    let start = performance.now();
    await using index = await openIndex(directory);
    for (let i = 0; i < SEARCHES_A_STATE && times.length < searches; i++) {
      const question = times.length % questions.length;
      const hits = await index.search(questions[question]!, { topK: TOP_K });
      times.push(performance.now() - start);
      for (const { id, score } of hits) {
        if ((known[question]!.get(id) ?? score) !== score) wrong++;
        known[question]!.set(id, score);
      }
      if (hits.length < TOP_K) wrong++;
      start = performance.now();
    }
  }
  return { times, wrong };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [directory, file, searches] = process.argv.slice(2) as [string, string, string];
  process.stdout.write(JSON.stringify(await searchOverAndOver(directory, file, Number(searches))));
}
