/**
 * Kills of index writers at random moments (SIGKILL), and searches beside them.
 *
 *     npx tsx test/campaigns/writer-kills.ts --count 10000 --seed 1
 *
 * Half of the kills stop one writer of known generations, whose contents are compared. The others
 * stop one of two writers that compete for a compressed index, while this process verifies and
 * searches it, also through an index that stays open and is refreshed: a search must equal a
 * comparison with the decoded keys of the same generation.
 */

import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { createRandom } from "../../src/math/random.ts";
import { findManifest } from "../../src/retrieval/index/format/manifest.ts";
import { verifyIndex } from "../../src/retrieval/index/maintain/verify.ts";
import { openIndex } from "../../src/retrieval/open-index.ts";
import type { IndexGeneration } from "../../src/retrieval/search/generation.ts";
import type { TokenIndex } from "../../src/retrieval/search/token-index.ts";
import type { Passage } from "../../src/text/passage.ts";
import { contentsOf } from "../retrieval/index/maintain/generations.ts";
import { compileScript } from "../retrieval/index/write/compile-script.ts";
import { encodeText } from "../retrieval/support.ts";
import {
  campaignFolder,
  campaignOptions,
  collectFailures,
  finish,
  killProcess,
  startProgress,
  startScript,
} from "./campaign.ts";

const LONGEST_LIFE_MS = 600;

const { count, seed } = campaignOptions(20);
const random = createRandom(seed, "writer kills");
const folder = campaignFolder("kills");
const progress = startProgress("writer kills", count);
const failures = collectFailures();
const counts = { "writer kills": 0, "searches beside writers": 0, refreshes: 0, generations: 0 };
/** An index that stays open beside the competing writers. */
let refreshed: TokenIndex | undefined;
await killOneWriter(join(folder, "one"), Math.ceil(count / 2));
await killCompetingWriters(join(folder, "two"), Math.floor(count / 2));
finish(counts, failures);

async function killOneWriter(directory: string, kills: number): Promise<void> {
  const source = "test/retrieval/index/write/endless-builder.ts";
  const script = await compileScript(source, join(folder, "one-compiled"));
  let generation = 0;
  for (let kill = 0; kill < kills; kill++) {
    const writer = await startScript(script, [directory]);
    await sleep(random.next() * LONGEST_LIFE_MS);
    await killProcess(writer);
    progress(++counts["writer kills"]);
    try {
      const found = (await findManifest(directory))?.generation ?? 0;
      if (found < generation) throw new Error(`generation ${found} after ${generation}`);
      counts.generations += found - generation;
      generation = found;
      if (generation > 0) await checkContents(directory, contentsOf(generation));
    } catch (error) {
      failures.add(`kill ${kill}, generation ${generation}`, error);
    }
  }
}

async function checkContents(directory: string, expected: readonly Passage[]): Promise<void> {
  await checkVerified(directory);
  await using index = await openIndex(directory, { threads: 1 });
  const found: Passage[] = [];
  for await (const [, passage] of index.entries()) found.push(passage);
  if (!isDeepStrictEqual(found, expected)) throw new Error("other passages");
}

async function checkVerified(directory: string): Promise<void> {
  const damages = await verifyIndex(directory);
  if (damages.length > 0) throw new Error(`damaged: ${JSON.stringify(damages)}`);
}

async function killCompetingWriters(directory: string, kills: number): Promise<void> {
  const script = await compileScript(
    "test/campaigns/competing-writer.ts",
    join(folder, "two-compiled"),
  );
  const begin = (kill: number) => startScript(script, [directory, `${kill * 97 + 10}`]);
  const writers = await Promise.all([begin(0), begin(1)]);
  for (let kill = 0; kill < kills; kill++) {
    const deadline = performance.now() + random.next() * LONGEST_LIFE_MS;
    do
      try {
        await searchBeside(directory);
        await searchRefreshed(directory);
      } catch (error) {
        failures.add(`competing writers, kill ${kill}`, error);
      }
    while (performance.now() < deadline);
    const victim = kill % 2;
    if (writers[victim]!.exitCode !== null) failures.add(`writer ${victim}`, "it has ended");
    await killProcess(writers[victim]!);
    progress(++counts["writer kills"]);
    writers[victim] = await begin(kill + 2);
  }
  await refreshed?.close();
  await Promise.all(writers.map(killProcess));
  if (kills > 0) counts.generations += (await findManifest(directory))?.generation ?? 0;
}

async function searchBeside(directory: string): Promise<void> {
  if (!(await findManifest(directory))) return sleep(20);
  await checkVerified(directory);
  await using index = await openIndex(directory, { threads: 1 });
  await index.snapshot(checkSearch);
}

/** Refreshes an index that stays open while writers change it and are killed. */
async function searchRefreshed(directory: string): Promise<void> {
  if (!(await findManifest(directory))) return;
  refreshed ??= await openIndex(directory, { threads: 1 });
  const { generation } = refreshed;
  const found = (await findManifest(directory))!.generation;
  await refreshed.refresh();
  if (refreshed.generation < Math.max(generation, found))
    throw new Error(`refreshed from ${generation} to ${refreshed.generation}, not to ${found}`);
  counts.refreshes++;
  await refreshed.snapshot(checkSearch);
}

/** Compares a search by centroids and the search of all keys of one generation. */
async function checkSearch(index: IndexGeneration): Promise<void> {
  const question = encodeText("w1 w7 w23");
  const hits = await index.search(question, { topK: 5 });
  const scores = await index.score(
    question,
    hits.map(({ ordinal }) => ordinal),
  );
  counts["searches beside writers"]++;
  for (const [i, { score, ordinal, id }] of hits.entries()) {
    if (Math.abs(score - scores[i]!) > 1e-4) throw new Error(`score ${score}, not ${scores[i]}`);
    if ((await index.find(id)) !== ordinal) throw new Error(`${id} is not at ${ordinal}`);
  }
  if (hits.length < Math.min(5, index.passageCount)) throw new Error(`${hits.length} hits`);
}
