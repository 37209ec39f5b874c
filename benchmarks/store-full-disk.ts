/**
 * Fills the disk of PostgreSQL and of a node of Weaviate during an import, makes space, and imports
 * again. The servers keep their data in TMPDIR, so that is a small disk:
 *
 *     mount -t tmpfs -o size=400m tmpfs /mnt/small
 *     TMPDIR=/mnt/small node --import tsx benchmarks/store-full-disk.ts
 *
 * Needs scripts/build-weaviate. The keys are random: what is measured is the store.
 */

import { writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { InputError } from "../src/io/errors.ts";
import { indexInfo, verifyIndex } from "../src/retrieval/maintain.ts";
import { openIndex } from "../src/retrieval/open-index.ts";
import { connectStore } from "../src/retrieval/places/place-of.ts";
import { digestOf } from "../src/retrieval/places/stores/digest.ts";
import { importPassages } from "../src/retrieval/places/stores/import.ts";
import type { Passage } from "../src/text/passage.ts";
import { DIMENSION, encodeText, header, makePassages, noise } from "../test/retrieval/support.ts";
import { openPostgresServer } from "../test/support/postgres-server.ts";
import { API_KEY, openWeaviateServers } from "../test/support/weaviate-servers.ts";

/** As many bytes of codes as a passage of Wikipedia has. */
const KEYS = 400;
const passages = makePassages(12_000);
/** Bytes of the file that is deleted to make space. */
const SPACE = 200_000_000;
const TRIES = 10;
const encode = async (window: readonly Passage[]): Promise<Float32Array[]> =>
  window.map(({ id }) => noise(KEYS * DIMENSION, Number(id.slice(1))));

const said = ({ code, message }: InputError): string => `${code} ${message}`;

/** @param recover what the server needs when there is space again */
async function measure(
  name: string,
  address: string,
  recover?: () => Promise<void>,
): Promise<void> {
  const start = performance.now();
  const note = (what: string): void =>
    console.log(`${name}, ${((performance.now() - start) / 1000).toFixed(1)} s: ${what}`);
  const file = join(tmpdir(), "space");
  writeFileSync(file, Buffer.alloc(SPACE));
  let acknowledged = 0;
  /** Why an import stopped; undefined after a whole one. */
  const importAll = async (): Promise<string | undefined> => {
    await using store = await connectStore(address);
    return await importPassages(store, passages, {
      header,
      encode,
      bits: undefined,
      isImport: true,
      onProgress: ({ passages }) => {
        acknowledged = Math.max(acknowledged, passages);
      },
    }).then(() => undefined, said);
  };
  note(`the import: ${await importAll()}`);
  const search = async (): Promise<string> => {
    await using index = await openIndex(address);
    return `${(await index.search(encodeText("w1 w2 w3"), { topK: 10 })).length} passages`;
  };
  note(`${acknowledged} passages are acknowledged; a search: ${await search().catch(said)}`);
  note(`the import again: ${await importAll()}`);
  await rm(file);
  note("there is space");
  await recover?.();
  const missing = async (): Promise<string> => {
    await using store = await connectStore(address);
    const first = passages.slice(0, acknowledged);
    const digests = await store.digests(first.map(({ id }) => id));
    return `${first.filter((one) => digests.get(one.id) !== digestOf(one)).length} are lost`;
  };
  note(`of the acknowledged ${await missing().catch(said)}`);
  for (let tries = 0; tries < TRIES; tries++) {
    const failure = await importAll();
    if (failure === undefined) break;
    note(`the import: ${failure}`);
    await sleep(2_000);
  }
  note(`${(await indexInfo(address)).passages} of ${passages.length} passages are imported`);
  note(`${(await verifyIndex(address)).length} damages`);
}

process.env.WEAVIATE_API_KEY = API_KEY;
{
  const postgres = await openPostgresServer();
  if (typeof postgres === "string") throw new Error(postgres);
  await using _postgres = postgres;
  await measure("PostgreSQL", `${postgres.url}/postgres/full`, async () => {
    await postgres.kill(); // it ends when its log does not fit
    await postgres.start();
  });
}
const weaviate = await openWeaviateServers(1);
if (typeof weaviate === "string") throw new Error(weaviate);
await using _weaviate = weaviate;
await measure("Weaviate", weaviate.address("full"));
