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
import { readdirSync, readFileSync } from "node:fs";
import { crc32 } from "node:zlib";
import {
  indexInfo,
  type Passage,
  ReAtt,
  readPassages,
  readQuestions,
  type TokenIndex,
} from "../src/index.ts";
import { openCompressedStore } from "../src/retrieval/index/format/compressed-store.ts";
import { openSnapshot } from "../src/retrieval/index/format/snapshot.ts";
import { connectStore } from "../src/retrieval/store/address.ts";
import { passageVector } from "../src/retrieval/store/candidate-vector.ts";
import { digestOf } from "../src/retrieval/store/digest.ts";
import { writeProperties } from "../src/retrieval/store/properties.ts";
import type { NewPassage } from "../src/retrieval/store/store.ts";
import { openAnalyser } from "../src/text/terms.ts";
import { openPostgresServer } from "../test/support/postgres-server.ts";
import { API_KEY, openWeaviateServers } from "../test/support/weaviate-servers.ts";
import { wikiPassages } from "./bench-index/corpus.ts";

const [count = "10000", folder = ".index/bench-stores", answers = "200"] = process.argv.slice(2);
const WINDOW = 512;
const CLIENTS = [1, 8, 32];
const SEARCHES = 96;

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

/** The processes of a group. */
const groupOf = (leader: number): number[] =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return (
          readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ")[2] === `${leader}`
        );
      } catch {
        return false; // it has ended
      }
    })
    .map(Number);

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
  const { segments, codec, manifest } = snapshot;
  const { dimension } = manifest.header;
  const compressed = segments.map(({ record, compressed }) => ({
    passages: record.passages,
    longestKey: record.longestKey,
    codes: compressed!.codes,
    lists: compressed!.lists,
  }));
  const store = openCompressedStore(compressed, dimension, codec.decoder as never);
  const analyser = await openAnalyser(["en"]);
  await using index = await model.openIndex(folder);
  let window: NewPassage[] = [];
  let ordinal = 0;
  for await (const passage of corpus(limit)) {
    let memory = new Uint8Array();
    await store.codes(Uint32Array.of(ordinal), (bytes) => {
      memory = new Uint8Array(bytes);
      return memory as never;
    });
    const keys = await index.keys(ordinal++);
    window.push({
      passage,
      digest: digestOf(passage),
      codes: memory,
      checksum: crc32(memory),
      tokens: keys.length / dimension,
      cutTokens: 0,
      vector: passageVector(keys, dimension),
      terms: analyser.terms(`${passage.title} ${passage.text}`),
    });
    if (window.length < WINDOW) continue;
    yield window;
    window = [];
  }
  yield window;
}

interface Server {
  readonly name: string;
  readonly address: string;
  readonly pids: () => readonly number[];
  readonly folder: string;
}

async function fill({ name, address, pids, folder: data }: Server): Promise<void> {
  await using snapshot = await openSnapshot(folder);
  const properties = {
    header: snapshot.manifest.header,
    codec: snapshot.codec,
    languages: ["en"] as const,
  };
  await using store = await connectStore(address);
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
      `${(bytesOf(data) / limit / 1000).toFixed(1)} | ${((megabytes(pids()) / limit) * 1000).toFixed(1)} |`,
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
  pids: readonly number[],
): Promise<void> {
  await using index = await model.openIndex(directory);
  const found: string[][] = [];
  for (const question of questions.slice(0, 100))
    found.push(await ids(index, question, 100, false));
  const cells = [recall(found, expected, 10), recall(found, expected, 100)];
  for (const clients of CLIENTS) {
    const times: number[] = [];
    let next = 0;
    const [own, server] = [process.cpuUsage(), pids.length > 0 ? processorSeconds(pids) : 0];
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
    const ofServer = pids.length > 0 ? processorSeconds(pids) - server : 0;
    cells.push(
      `${quantile(times, 0.5)}, ${quantile(times, 0.95)}`,
      ...(clients === 1 ? [`${each(seconds(process.cpuUsage(own)))} + ${each(ofServer)}`] : []),
    );
  }
  console.log(`| ${name} | ${cells.join(" | ")} |`);
}

async function sameAnswers(name: string, directory: string): Promise<void> {
  await using index = await model.openIndex(directory);
  await using exact = await model.openIndex(folder, { preset: "exact" });
  let [samePassages, sameAnswer, both] = [0, 0, 0];
  const asked = questions.slice(0, Number(answers));
  for (const question of asked) {
    const [one, other] = [await model.answer(question, index), await model.answer(question, exact)];
    const passages = ({ passages }: typeof one) => JSON.stringify(passages.map(({ id }) => id));
    const isFound = passages(one) === passages(other);
    samePassages += Number(isFound);
    sameAnswer += Number(one.answer === other.answer);
    both += Number(isFound && one.answer === other.answer);
  }
  console.log(
    `${name}: of ${asked.length} questions ${samePassages} found the same passages, ${both} of them ` +
      `with the same answer; ${sameAnswer} the same answer in all`,
  );
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
    pids: () => groupOf(postgres.pid),
    folder: postgres.folder,
  },
  {
    name: "Weaviate, 3 nodes, 3 shards, 3 replicas",
    address: weaviate.address("bench", "&shards=3&replicas=3"),
    pids: () => weaviate.nodes.map(({ pid }) => pid),
    folder: weaviate.folder,
  },
];
console.log("| | passages/s | ms of reatt | ms of the server | kB of disk | kB of memory |");
console.log("|---|---|---|---|---|---|");
for (const server of servers) await fill(server);
console.log(`| folder | | | | ${(info.bytes / limit / 1000).toFixed(1)} | |`);

const expected: string[][] = [];
{
  await using exact = await model.openIndex(folder, { preset: "exact" });
  for (const question of questions.slice(0, 100))
    expected.push(await ids(exact, question, 100, false));
}
console.log(
  "| | @10 | @100 | 1 client: p50, p95 ms | ms of reatt + server | 8 clients | 32 clients |",
);
console.log("|---|---|---|---|---|---|---|");
await search("folder", folder, expected, []);
for (const { name, address, pids } of servers) await search(name, address, expected, pids());
if (answers !== "0") for (const { name, address } of servers) await sameAnswers(name, address);
