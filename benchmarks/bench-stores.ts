/**
 * Measures the same passages in a folder, in PostgreSQL and in three nodes of Weaviate, all on this
 * machine:
 *
 *     node --import tsx benchmarks/bench-stores.ts [PASSAGES] [FOLDER] [ANSWERS]
 *
 * The passages are those of `data/squad` and then of Wikipedia. The index in FOLDER is built unless
 * it is there; the stores get its codes, so that all have the same scores. The reference is exact
 * search. It prints Markdown. Needs scripts/build-weaviate.
 */

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { crc32 } from "node:zlib";
import {
  indexInfo,
  type Passage,
  ReAtt,
  readPassages,
  readQuestions,
  type TokenIndex,
} from "../src/index.ts";
import { openSnapshot } from "../src/retrieval/index/format/snapshot.ts";
import { connectStore } from "../src/retrieval/places/place-of.ts";
import { passageVector } from "../src/retrieval/places/stores/candidate-vector.ts";
import { digestOf } from "../src/retrieval/places/stores/digest.ts";
import { writeProperties } from "../src/retrieval/places/stores/properties.ts";
import { IMPORT_PAUSES, retrying } from "../src/retrieval/places/stores/retry.ts";
import type { NewPassage, Store } from "../src/retrieval/places/stores/store.ts";
import { openAnalyser } from "../src/text/terms.ts";
import { childrenOf, openPostgresServer } from "../test/support/postgres-server.ts";
import { API_KEY, openWeaviateServers } from "../test/support/weaviate-servers.ts";
import { wikiPassages } from "./bench-index/corpus.ts";

const [count = "10000", folder = ".index/bench-stores", answers = "200"] = process.argv.slice(2);
const WINDOW = 512;
const LANGUAGES = ["en"] as const;
const CLIENTS = [1, 8, 32];
const SEARCHES = 64;
/** Questions that recall is measured with. */
const RECALLED = 60;

async function* corpus(limit: number): AsyncGenerator<Passage> {
  let left = limit;
  for await (const passage of readPassages("data/squad/corpus.jsonl")) {
    if (left-- === 0) return;
    yield passage;
  }
  yield* wikiPassages("../shared/data/wiki/articles.jsonl.gz", left);
}

const seconds = (cpu: NodeJS.CpuUsage): number => (cpu.user + cpu.system) / 1e6;

/** Processor seconds of processes, with those of children that have ended. */
function processorSeconds(pids: readonly number[]): number {
  const ticks = pids.map((pid) => {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
    return [11, 12, 13, 14].reduce((sum, at) => sum + Number(fields[at]), 0);
  });
  return ticks.reduce((sum, one) => sum + one, 0) / 100;
}

/** Megabytes of memory; what processes share counts once. */
function megabytes(pids: readonly number[]): number {
  const sizes = pids.map((pid) => {
    const text = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
    return Number(/^Pss:\s+(\d+)/m.exec(text)![1]);
  });
  return sizes.reduce((sum, one) => sum + one, 0) / 1000;
}

const bytesOf = (path: string): number =>
  Number(execFileSync("du", ["-sb", path], { encoding: "utf8" }).split("\t")[0]);

await using model = await ReAtt.load();
const limit = Number(count);
const isThere = await indexInfo(folder).then(
  ({ passages }) => passages === limit,
  () => false,
);
if (!isThere) {
  const [before, start] = [process.cpuUsage(), performance.now()];
  await using built = await model.index(corpus(limit), {
    directory: folder,
    bits: 2,
    replace: true,
  });
  const cpu = seconds(process.cpuUsage(before));
  console.log(
    `built ${built.passageCount} passages: ${((1000 * cpu) / limit).toFixed(1)} ms of processor time a passage, ` +
      `${((performance.now() - start) / 1000).toFixed(0)} s`,
  );
}
const info = await indexInfo(folder);
console.log(`${info.passages} passages, ${info.tokens} keys of ${info.bits} bits`);

const questions = (await readQuestions("test/fixtures/squad-questions/questions.jsonl")).map(
  ({ question }) => question,
);

/** What the stores are given: the rows of the index, with its codes. */
async function* rows(): AsyncGenerator<NewPassage[]> {
  await using snapshot = await openSnapshot(folder);
  const { dimension } = snapshot.manifest.header;
  const analyser = await openAnalyser(LANGUAGES);
  const passages = corpus(limit);
  for (const segment of snapshot.segments)
    for (let first = 0; first < segment.record.passages; first += WINDOW) {
      const window: NewPassage[] = [];
      for (let at = first; at < Math.min(first + WINDOW, segment.record.passages); at++) {
        const passage = (await passages.next()).value as Passage;
        const codes = Uint8Array.from(await segment.codes(at, 1));
        const keys = await segment.keys(at, 1);
        window.push({
          passage,
          digest: digestOf(passage),
          codes,
          checksum: crc32(codes),
          tokens: keys.length / dimension,
          cutTokens: 0,
          vector: passageVector(keys, dimension),
          terms: analyser.terms(`${passage.title} ${passage.text}`),
        });
      }
      yield window;
    }
}

interface Server {
  readonly name: string;
  readonly address: string;
  readonly pids: () => readonly number[];
  /** Bytes on disk. */
  bytes(store: Store): number | Promise<number>;
}

async function fill({ name, address, pids, bytes }: Server): Promise<void> {
  await using snapshot = await openSnapshot(folder);
  const properties = {
    header: snapshot.manifest.header,
    codec: snapshot.codec,
    languages: LANGUAGES,
  };
  await using store = retrying(await connectStore(address), IMPORT_PAUSES);
  await store.create(snapshot.manifest.header.dimension, writeProperties(properties));
  let [wall, own] = [0, 0];
  const before = processorSeconds(pids());
  for await (const window of rows()) {
    const [start, cpu] = [performance.now(), process.cpuUsage()];
    await store.put(window);
    wall += performance.now() - start;
    own += seconds(process.cpuUsage(cpu));
  }
  const server = processorSeconds(pids()) - before;
  const each = (total: number): string => ((1000 * total) / limit).toFixed(2);
  console.log(
    `| ${name} | ${((1000 * limit) / wall).toFixed(0)} | ${each(own)} | ${each(server)} | ` +
      `${((await bytes(store)) / limit / 1000).toFixed(1)} | ${((megabytes(pids()) / limit) * 1000).toFixed(1)} |`,
  );
}

const ids = async (
  index: TokenIndex,
  question: string,
  topK: number,
  hybrid?: false,
): Promise<string[]> =>
  (await model.retrieve(question, index, { topK, hybrid })).map(({ id }) => id);

function recall(found: readonly string[][], expected: readonly string[][], first: number): string {
  let [hits, total] = [0, 0];
  for (const [i, own] of expected.entries()) {
    const best = own.slice(0, first);
    const given = new Set(found[i]!.slice(0, first));
    hits += best.filter((id) => given.has(id)).length;
    total += best.length;
  }
  return (hits / total).toFixed(3);
}

const quantile = (times: readonly number[], share: number): string =>
  [...times].sort((a, b) => a - b)[Math.floor(share * (times.length - 1))]!.toFixed(0);

async function search(
  name: string,
  directory: string,
  expected: readonly string[][],
  pids: () => readonly number[],
): Promise<void> {
  await using index = await model.openIndex(directory);
  const found: string[][] = [];
  for (const question of questions.slice(0, RECALLED))
    found.push(await ids(index, question, 100, false));
  const cells = [recall(found, expected, 10), recall(found, expected, 100)];
  for (const clients of CLIENTS) {
    const times: number[] = [];
    let next = 0;
    const [own, server] = [process.cpuUsage(), processorSeconds(pids())];
    const client = async (): Promise<void> => {
      while (next < SEARCHES) {
        const question = questions[100 + (next++ % 100)]!;
        const start = performance.now();
        await ids(index, question, 10);
        times.push(performance.now() - start);
      }
    };
    await Promise.all(Array.from({ length: clients }, client));
    const each = (total: number): string => ((1000 * total) / SEARCHES).toFixed(0);
    const ofServer = processorSeconds(pids()) - server;
    cells.push(
      `${quantile(times, 0.5)}, ${quantile(times, 0.95)}`,
      ...(clients === 1 ? [`${each(seconds(process.cpuUsage(own)))} + ${each(ofServer)}`] : []),
    );
  }
  console.log(`| ${name} | ${cells.join(" | ")} |`);
}

/** The answer to each question, and the ids of the passages that were read. */
async function answersOf(directory: string, preset?: "exact") {
  await using index = await model.openIndex(directory, { preset });
  const replies: { readonly answer: string; readonly read: string }[] = [];
  for (const question of questions.slice(0, Number(answers))) {
    const { answer, passages } = await model.answer(question, index);
    replies.push({ answer, read: JSON.stringify(passages.map(({ id }) => id)) });
  }
  return replies;
}

process.env.WEAVIATE_API_KEY = API_KEY;
const postgres = await openPostgresServer();
const weaviate = await openWeaviateServers(3);
if (typeof postgres === "string") throw new Error(postgres);
if (typeof weaviate === "string") throw new Error(weaviate);
await using _postgres = postgres;
await using _weaviate = weaviate;
const servers: Server[] = [
  {
    name: "PostgreSQL",
    address: `${postgres.url}/postgres/bench`,
    pids: () => [postgres.pid, ...childrenOf(postgres.pid)],
    bytes: (store) => store.bytes(), // without its log of changes
  },
  {
    name: "Weaviate, 3 nodes, 3 shards, 3 replicas",
    address: weaviate.address("bench", "&shards=3&replicas=3"),
    pids: () => weaviate.nodes.map(({ pid }) => pid),
    bytes: () => bytesOf(weaviate.folder),
  },
];
console.log("| | passages/s | ms of reatt | ms of the server | kB of disk | kB of memory |");
console.log("|---|---|---|---|---|---|");
for (const server of servers) await fill(server);
console.log(`| folder | | | | ${(info.bytes / limit / 1000).toFixed(1)} | |`);

const expected: string[][] = [];
{
  await using exact = await model.openIndex(folder, { preset: "exact" });
  for (const question of questions.slice(0, RECALLED))
    expected.push(await ids(exact, question, 100, false));
}
console.log(
  "| | @10 | @100 | 1 client: p50, p95 ms | ms of reatt + server | 8 clients | 32 clients |",
);
console.log("|---|---|---|---|---|---|---|");
await search("folder", folder, expected, () => []);
for (const { name, address, pids } of servers) await search(name, address, expected, pids);
if (answers !== "0") {
  const exact = await answersOf(folder, "exact");
  for (const { name, address } of servers) {
    const own = await answersOf(address);
    const isSame = (key: "answer" | "read") => own.map((one, i) => one[key] === exact[i]![key]);
    const [read, answer] = [isSame("read"), isSame("answer")];
    const both = read.filter((same, i) => same && answer[i]).length;
    console.log(
      `${name}: of ${own.length} questions, ${read.filter(Boolean).length} found the same passages, ` +
        `${both} of these have the same answer; ${answer.filter(Boolean).length} of all do`,
    );
  }
}
