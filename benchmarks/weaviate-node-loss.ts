/**
 * Kills a node of a Weaviate cluster of three during searches and writes, and starts it again:
 *
 *     node --import tsx benchmarks/weaviate-node-loss.ts [SEARCHES] [WRITES]
 *
 * Needs scripts/build-weaviate. The keys are toys: what is measured is the store. Every score is
 * compared with one that is computed here. Then each node alone is asked for every passage that was
 * acknowledged, by its id and by its vector.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { generateUuid5 } from "weaviate-client";
import { connectStore } from "../src/retrieval/places/place-of.ts";
import { passageVector } from "../src/retrieval/places/stores/candidate-vector.ts";
import { importPassages } from "../src/retrieval/places/stores/import.ts";
import { openCollection } from "../src/retrieval/places/stores/open-store-index.ts";
import { retrying, SEARCH_PAUSES } from "../src/retrieval/places/stores/retry.ts";
import {
  encode,
  encodeText,
  header,
  makePassages,
  naiveSearch,
} from "../test/retrieval/support.ts";
import { API_KEY, openWeaviateServers } from "../test/support/weaviate-servers.ts";

const [searches, writes] = [Number(process.argv[2] ?? 1_000), Number(process.argv[3] ?? 1_000)];
process.env.WEAVIATE_API_KEY = API_KEY;
const opened = await openWeaviateServers(3);
if (typeof opened === "string") throw new Error(opened);
await using servers = opened;
const address = servers.address("manuals", "&shards=3&replicas=3");
await using store = retrying(await connectStore(address), SEARCH_PAUSES);
const importing = { header, encode, bits: undefined, isImport: true };
const passages = makePassages(writes + 1_000);
await importPassages(store, passages.slice(0, 1_000), importing);
const { generation: index } = await openCollection(store, {
  memoryLimit: 2 ** 24,
  threads: 1,
  candidates: 200,
});
const byId = new Map(passages.map((passage) => [passage.id, passage]));

const counts = { searches: 0, wrong: 0, searchErrors: 0, acknowledged: 0, writeErrors: 0 };
const errors = new Set<string>();
const slowest = { search: 0, write: 0 };
const note = (error: unknown): void => void errors.add((error as Error).message.slice(0, 200));
const started = performance.now();
const seconds = (): string => ((performance.now() - started) / 1000).toFixed(1);

const acknowledged: string[] = [];
async function write(): Promise<void> {
  for (let i = 0; i < writes; i++) {
    const start = performance.now();
    try {
      const one = [passages[1_000 + i]!];
      await importPassages(store, one, { ...importing, isImport: false });
      acknowledged.push(one[0]!.id);
      counts.acknowledged++;
    } catch (error) {
      counts.writeErrors++;
      note(error);
    }
    slowest.write = Math.max(slowest.write, performance.now() - start);
  }
}

async function search(): Promise<void> {
  for (let i = 0; i < searches; i++) {
    const question = encodeText(`w${i % 50} w${(i * 7) % 50} w${(i * 13) % 50}`);
    const start = performance.now();
    try {
      for (const { id, score } of await index.search(question, { topK: 10 })) {
        const [naive] = naiveSearch(question, [encodeText(byId.get(id)!.text)], 1);
        if (Math.abs(naive!.score - score) > 1e-9) counts.wrong++;
      }
    } catch (error) {
      counts.searchErrors++;
      note(error);
    }
    counts.searches++;
    slowest.search = Math.max(slowest.search, performance.now() - start);
  }
}

async function lose(): Promise<void> {
  while (counts.searches < searches / 4) await sleep(20);
  console.log(`${seconds()} s: a node is killed`);
  await servers.nodes[1]!.kill();
  while (counts.searches < searches / 2) await sleep(20);
  console.log(`${seconds()} s: it is started`);
  await servers.nodes[1]!.start();
  console.log(`${seconds()} s: it is ready`);
}

await Promise.all([write(), search(), lose()]);
console.log(`${seconds()} s: done`);
console.log(JSON.stringify({ ...counts, slowestMs: slowest, errors: [...errors] }));

/** What a node has by itself of the passages that were acknowledged. */
async function missingOn(node: number): Promise<number> {
  let missing = 0;
  for (const { id, text } of [
    ...passages.slice(0, 1_000),
    ...acknowledged.map((id) => byId.get(id)!),
  ]) {
    const found = (await servers.onNode(node, "Manuals", generateUuid5(id))) as
      | { text: string }
      | undefined;
    if (found?.text !== text) missing++;
  }
  return missing;
}

/** How many of 200 passages a node does not find by their vector. */
async function notFoundOn(node: number): Promise<number> {
  const own = new URL(address.replace(/,[^/]*/, ""));
  own.host = address.split("/")[2]!.split(",")[node]!;
  own.searchParams.set("grpc", own.searchParams.get("grpc")!.split(",")[node]!);
  await using alone = await connectStore(own.href);
  let missing = 0;
  const ids = [...passages.slice(0, 1_000).map(({ id }) => id), ...acknowledged];
  for (const id of ids.filter((_, i) => i % Math.ceil(ids.length / 200) === 0)) {
    const keys = encodeText(byId.get(id)!.text);
    const found = await alone.nearest(passageVector(keys, header.dimension), { count: 200 });
    missing += Number(!found.some(({ passage }) => passage.id === id));
  }
  return missing;
}

for (const node of [0, 1, 2]) {
  let missing = await missingOn(node);
  for (let tries = 0; missing > 0 && tries < 30; tries++) {
    console.log(`${seconds()} s: node ${node} lacks ${missing} passages`);
    await sleep(5_000);
    missing = await missingOn(node);
  }
  console.log(
    `${seconds()} s: node ${node} lacks ${missing} passages, and does not find ` +
      `${await notFoundOn(node)} of 200 by their vector`,
  );
}
