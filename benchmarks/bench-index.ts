/**
 * Measures the token index on English Wikipedia: size, build, opening, search, quality, growth,
 * updates. Prints a JSON object for each figure as it is measured, and tables at the end.
 *
 *     npm run bench:index -- [--directory DIR] [--passages N] [--searches N] [--changes N]
 *         [--model DIR] [--data DIR]
 *
 * `--directory` keeps the indexes with the cost of their build: a later run builds only the rest.
 */

import { cp, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ReAtt } from "../src/reatt.ts";
import { indexInfo } from "../src/retrieval/maintain.ts";
import { readQuestions } from "../src/text/read-passages.ts";
import type { BuildCost } from "./bench-index/cached-build.ts";
import { compress } from "./bench-index/compress.ts";
import { encode, wikiPassages } from "./bench-index/corpus.ts";
import { qualities, scifact, squad } from "./bench-index/quality.ts";
import {
  overlap,
  quantile,
  type SearchTimes,
  timeSearches,
  writeVectors,
} from "./bench-index/search.ts";
import { timeUpdates } from "./bench-index/updates.ts";

const { values } = parseArgs({
  options: {
    directory: { type: "string" },
    passages: { type: "string", default: "1000000" }, // all
    searches: { type: "string", default: "200" },
    changes: { type: "string", default: "1000" },
    model: { type: "string", default: "models/reatt-mini" },
    data: { type: "string", default: "../shared/data" },
  },
});
const LIMIT = Number(values.passages);
const SEARCHES = Number(values.searches);

/** Exact searches take seconds: this many questions are compared with them, this many timed. */
const JUDGED = 100;
const TIMED_EXACT = 10;
/** Bytes. All float32 keys fit, so exact search is as fast as it can be. */
const ALL_KEYS = 2 ** 34;

type Row = Readonly<Record<string, string | number>>;
const tables = new Map<string, Row[]>();

function note(table: string, row: Row): void {
  process.stdout.write(`${JSON.stringify({ table, ...row })}\n`);
  tables.set(table, [...(tables.get(table) ?? []), row]);
}

const round = (value: number): number => Number(value.toPrecision(4));

async function noteBuild(what: string, directory: string, cost: BuildCost): Promise<void> {
  const { passages, tokens, bits, bytes, centroids = 0 } = await indexInfo(directory);
  note("build", {
    what,
    passages,
    tokens,
    bits,
    centroids,
    bytes,
    "bytes/token": round(bytes / tokens),
    "passages/s": round(cost.passagesPerSecond),
    "peak MB": cost.peakMegabytes,
  });
}

/** Searches of float32 keys by number of threads: the reference of the others. */
type ExactSearches = ReadonlyMap<number, SearchTimes>;

const THREADS = [1, 2] as const;

async function searchExactly(directory: string, questions: string): Promise<ExactSearches> {
  const searches = new Map<number, SearchTimes>();
  const task = { directory, questions, preset: "exact", timed: TIMED_EXACT } as const;
  for (const threads of THREADS) {
    const times = await timeSearches({ ...task, threads, memoryLimit: ALL_KEYS, searched: JUDGED });
    searches.set(threads, times);
    await noteSearch(directory, "exact, all keys in memory", threads, times, times, searches);
  }
  const times = await timeSearches({ ...task, threads: 2, searched: TIMED_EXACT });
  await noteSearch(directory, "exact", 2, times, times, searches);
  return searches;
}

/** Records each preset of a compressed index. `reference` is of the same passages, if present. */
async function searchCompressed(
  directory: string,
  questions: string,
  reference?: ExactSearches,
): Promise<void> {
  const counts = { searched: JUDGED, timed: TIMED_EXACT };
  const exact = await timeSearches({
    directory,
    questions,
    preset: "exact",
    threads: 2,
    ...counts,
  });
  await noteSearch(directory, "exact", 2, exact, exact, reference);
  const all = { searched: SEARCHES, timed: SEARCHES };
  for (const threads of THREADS)
    for (const preset of ["fast", "balanced"] as const) {
      const times = await timeSearches({ directory, questions, preset, threads, ...all });
      await noteSearch(directory, preset, threads, times, exact, reference);
    }
}

async function noteSearch(
  directory: string,
  preset: string,
  threads: number,
  times: SearchTimes,
  itself: SearchTimes,
  reference?: ExactSearches,
): Promise<void> {
  const { passages, bits } = await indexInfo(directory);
  const exact = reference?.get(threads);
  note("search", {
    passages,
    bits,
    preset,
    threads,
    "open ms": round(times.open),
    "first ms": round(times.first),
    "p50 ms": round(times.p50),
    "p95 ms": round(times.p95),
    "questions/s": round(times.questionsPerSecond),
    "in batches": round(times.questionsPerSecondInBatches),
    "recall@100 of exact": round(overlap(times.found, itself.found)),
    "of float32": exact ? round(overlap(times.found, exact.found)) : "",
    "times as fast as float32": exact ? round(exact.p50 / times.p50) : "",
    "peak MB": times.peakMegabytes,
  });
}

/** Questions spread over SQuAD's development set. Presets were chosen on its training set. */
async function encodeQuestions(model: ReAtt): Promise<Float32Array[]> {
  const questions = await readQuestions(join(values.data, "squad", "dev.jsonl"));
  const spread = (i: number): number => Math.floor((i * questions.length) / SEARCHES);
  return model.encodeQuestions(
    Array.from({ length: SEARCHES }, (_, i) => questions[spread(i)]!.question),
  );
}

async function update(model: ReAtt, directory: string, questions: string): Promise<void> {
  const count = Number(values.changes);
  for (const changes of [0, count]) {
    const times = await timeUpdates(model, { directory, questions, searches: count }, changes);
    note("changes while another process searches", {
      changes,
      "change p50 ms": changes ? round(quantile(times.changes, 0.5)) : "",
      "change p95 ms": changes ? round(quantile(times.changes, 0.95)) : "",
      "change max ms": changes ? round(quantile(times.changes, 1)) : "",
      searches: times.searches.length,
      "search p50 ms": round(quantile(times.searches, 0.5)),
      "search p95 ms": round(quantile(times.searches, 0.95)),
      wrong: times.wrong,
    });
  }
}

async function noteQuality(model: ReAtt, folder: string): Promise<void> {
  for (const [measure, open, name] of [
    ["SciFact nDCG@10", scifact, "scifact"],
    ["SQuAD R@20", squad, "squad"],
  ] as const) {
    const directory = join(folder, name);
    await mkdir(directory, { recursive: true });
    const collection = await open(join(values.data, name), LIMIT);
    let exact: number | undefined;
    for await (const { value, bytesPerToken, ...of } of qualities(model, collection, directory)) {
      exact ??= value;
      note("quality", {
        measure,
        ...of,
        "bytes/token of the corpus": round(bytesPerToken),
        value: round(value),
        "relative loss": round(1 - value / exact),
      });
    }
  }
}

async function benchmark(folder: string): Promise<void> {
  await using model = await ReAtt.load(values.model);
  const questions = join(folder, "questions.json");
  await writeVectors(questions, await encodeQuestions(model));
  const exact = join(folder, "exact");
  const wiki = wikiPassages(join(values.data, "wiki", "articles.jsonl.gz"), LIMIT);
  const cost = await encode(model, wiki, exact);
  await noteBuild("encoding", exact, cost);
  const compressed = async (share: number): Promise<string> => {
    const directory = join(folder, `bits 2, ${share} of the corpus`);
    const passages = Math.round(share * cost.passages);
    await noteBuild(
      "compression",
      directory,
      await compress({ exact, directory, bits: 2, passages }),
    );
    return directory;
  };
  const reference = await searchExactly(exact, questions);
  const main = await compressed(1);
  await searchCompressed(main, questions, reference);
  for (const share of [0.1, 0.3]) await searchCompressed(await compressed(share), questions);
  const changed = join(folder, "changed");
  await cp(main, changed, { recursive: true });
  await update(model, changed, questions);
  await rm(changed, { recursive: true });
  await noteQuality(model, folder);
}

const folder = values.directory ?? (await mkdtemp(join(tmpdir(), "reatt-bench-")));
await mkdir(folder, { recursive: true });
try {
  await benchmark(folder);
} finally {
  if (values.directory === undefined) await rm(folder, { recursive: true });
}
for (const [name, rows] of tables) {
  process.stdout.write(`\n${name}\n`);
  console.table(rows);
}
