/**
 * Measures the token index on English Wikipedia against exact search: size, build, opening, search, quality, growth,
 * changes. Prints a JSON object for each figure as it is measured, and tables at the end.
 *
 *     npm run bench:index -- [--passages N] [--searches N] [--changes N] [--model DIR] [--data DIR]
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { readConfig } from "../src/config.ts";
import { encodeSequences, openEncoder } from "../src/encoder/session.ts";
import { ReAtt } from "../src/reatt.ts";
import type { Bits } from "../src/retrieval/compression/codec.ts";
import { readManifest } from "../src/retrieval/disk/manifest.ts";
import { buildIndex } from "../src/retrieval/tend/build.ts";
import { indexInfo } from "../src/retrieval/tend/info.ts";
import { readQuestions } from "../src/text/corpus.ts";
import { retrievalQuestionIds } from "../src/text/prompts.ts";
import { loadWeights } from "../src/weights/load.ts";
import { storedKeys, wikiPassages } from "./bench-index/corpus.ts";
import { scifact, squad } from "./bench-index/quality.ts";
import { overlap, quantile, type SearchTimes, timeSearches } from "./bench-index/search.ts";
import { timeUpdates, writeQuestions } from "./bench-index/updates.ts";

const { values } = parseArgs({
  options: {
    passages: { type: "string", default: "1000000" }, // more than there are
    searches: { type: "string", default: "200" },
    changes: { type: "string", default: "1000" },
    model: { type: "string", default: "models/reatt-mini" },
    data: { type: "string", default: "../shared/data" },
  },
});
const WIKI = join(values.data, "wiki", "articles.jsonl.gz");

type Row = Readonly<Record<string, string | number>>;
const tables = new Map<string, Row[]>();

function note(table: string, row: Row): void {
  process.stdout.write(`${JSON.stringify({ table, ...row })}\n`);
  tables.set(table, [...(tables.get(table) ?? []), row]);
}

const round = (value: number): number => Number(value.toPrecision(4));
const peakMegabytes = (): number => Math.round(process.resourceUsage().maxRSS / 1000);

/** Encodes the corpus once, to float32 keys: the index that all others are made from and judged by. */
async function buildExact(model: ReAtt, directory: string): Promise<number> {
  const start = performance.now();
  await using index = await model.index(wikiPassages(WIKI, Number(values.passages)), { directory });
  const seconds = (performance.now() - start) / 1000;
  const rate = round(index.passageCount / seconds);
  note("encoding", {
    passages: index.passageCount,
    tokens: index.tokenCount,
    "passages/s": rate,
    "peak MB": peakMegabytes(),
  });
  return index.passageCount;
}

/** Compresses the first `count` passages. Notes the time that this takes without encoding. */
async function compress(exact: string, directory: string, count: number, bits: Bits): Promise<void> {
  const { header } = await readManifest(exact);
  await using keys = await storedKeys(exact);
  let start = 0;
  const options = { directory, header, bits, encode: keys.encode };
  await buildIndex(wikiPassages(WIKI, count), {
    ...options,
    onProgress: ({ event, passages }) => {
      if (event === "compressed" && passages === 0) start = performance.now();
    },
  });
  const seconds = (performance.now() - start) / 1000;
  await noteSize(directory, { "passages/s": round(count / seconds), "peak MB": peakMegabytes() });
}

async function noteSize(directory: string, more: Row = {}): Promise<void> {
  const { passages, tokens, bits, bytes, centroids = 0 } = await indexInfo(directory);
  note("size", { passages, bits, centroids, bytes, "bytes/token": round(bytes / tokens), ...more });
}

/** Notes each preset on one and two threads beside `exact`, the exact searches of the float32 keys. */
async function search(
  directory: string,
  questions: readonly Float32Array[],
  exact: SearchTimes,
): Promise<void> {
  const { passages, bits } = await indexInfo(directory);
  for (const threads of [1, 2])
    for (const preset of ["fast", "balanced", "exact"] as const)
      noteSearch(
        passages,
        bits,
        preset,
        threads,
        await timeSearches(directory, questions, { preset, threads }),
        exact,
      );
}

function noteSearch(
  passages: number,
  bits: number,
  preset: string,
  threads: number,
  times: SearchTimes,
  exact: SearchTimes,
): void {
  note("search", {
    passages,
    bits,
    preset,
    threads,
    "open ms": round(times.open),
    "p50 ms": round(times.p50),
    "p95 ms": round(times.p95),
    "questions/s": round(times.questionsPerSecond),
    "overlap@100": round(overlap(times.found, exact.found)),
    "times exact": round(exact.p50 / times.p50),
  });
}

async function encodeQuestions(model: ReAtt, count: number): Promise<Float32Array[]> {
  const config = await readConfig(values.model);
  await using encoder = await openEncoder(config, { weights: await loadWeights(values.model, config) });
  const questions = (await readQuestions(join(values.data, "squad", "train.jsonl"))).slice(0, count);
  const ids = questions.map(({ question }) => retrievalQuestionIds(model.tokenizer, question));
  return await encodeSequences(encoder, config, ids, "queries");
}

async function update(model: ReAtt, directory: string, file: string): Promise<void> {
  const count = Number(values.changes);
  for (const changes of [0, count]) {
    const times = await timeUpdates(model, directory, file, { changes, searches: count });
    note("changes while another process searches", {
      changes,
      "change p50 ms": changes ? round(quantile(times.changes, 0.5)) : "",
      "change max ms": changes ? round(quantile(times.changes, 1)) : "",
      searches: times.searches.length,
      "search p50 ms": round(quantile(times.searches, 0.5)),
      "search p95 ms": round(quantile(times.searches, 0.95)),
      wrong: times.wrong,
    });
  }
}

async function quality(model: ReAtt): Promise<void> {
  const measures = { "SciFact nDCG@10": scifact, "SQuAD R@20": squad };
  for (const [name, measure] of Object.entries(measures)) {
    const rows = await measure(
      model,
      join(values.data, name.split(" ")[0]!.toLowerCase()),
      Number(values.passages),
    );
    for (const { bits, preset, value } of rows) {
      const loss = round(1 - value / rows[0]!.value);
      note("quality", { measure: name, bits, preset, value: round(value), "relative loss": loss });
    }
  }
}

const folder = await mkdtemp(join(tmpdir(), "reatt-bench-"));
try {
  await using model = await ReAtt.load(values.model);
  const questions = await encodeQuestions(model, Number(values.searches));
  const exact = join(folder, "exact");
  const count = await buildExact(model, exact);
  await noteSize(exact);
  for (const share of [0.1, 0.3]) {
    const directory = join(folder, `share ${share}`);
    await compress(exact, directory, Math.round(share * count), 2);
    const itself = await timeSearches(directory, questions, { preset: "exact", threads: 2 });
    await search(directory, questions, itself);
  }
  const reference = await timeSearches(exact, questions, { preset: "exact", threads: 2 });
  noteSearch(count, 32, "exact", 2, reference, reference);
  for (const bits of [1, 2, 4, 8] as const) {
    await compress(exact, join(folder, `${bits}`), count, bits);
    await search(join(folder, `${bits}`), questions, reference);
  }
  await writeQuestions(join(folder, "questions.json"), questions);
  await update(model, join(folder, "2"), join(folder, "questions.json"));
  await quality(model);
} finally {
  await rm(folder, { recursive: true });
}
for (const [name, rows] of tables) {
  process.stdout.write(`\n${name}\n`);
  console.table(rows);
}
