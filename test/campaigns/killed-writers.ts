/**
 * Processes that write indexes and are killed at random moments. The index must be whole and no
 * older than before, with the passages of its generation. Searches beside two writers that compete
 * must equal a comparison with the decoded keys of the same generation, also through an index that
 * stays open and is refreshed.
 */

import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { Random } from "../../src/math/random.ts";
import type { ReAtt } from "../../src/reatt.ts";
import { findManifest } from "../../src/retrieval/index/format/manifest.ts";
import { verifyIndex } from "../../src/retrieval/maintain.ts";
import { openIndex } from "../../src/retrieval/open-index.ts";
import type { IndexGeneration } from "../../src/retrieval/search/generation.ts";
import type { TokenIndex } from "../../src/retrieval/search/token-index.ts";
import type { Passage } from "../../src/text/passage.ts";
import { contentsOf } from "../retrieval/index/maintain/generations.ts";
import { compileScript } from "../retrieval/index/write/compile-script.ts";
import { encodeText } from "../retrieval/support.ts";
import { Failed } from "./campaign.ts";
import { killProcess, startScript } from "./script-processes.ts";
import { folderStates } from "./sync-history.ts";

const LONGEST_LIFE_MS = 600;
/** A synchronisation of a few files takes less. */
const LONGEST_SYNC_MS = 300;
/** One of so many kills is followed by a synchronisation that nobody interrupts. */
const REPAIR_EVERY = 4;

/** Writers of one kind. */
interface KilledWriters {
  /** Kills one of them, and checks what it leaves. */
  kill(): Promise<void>;
  close(): Promise<void>;
}

export async function killedWriters(folder: string, model: ReAtt, random: Random) {
  const counts = { processes: 0, "searches beside writers": 0, refreshes: 0, repairs: 0 };
  const compiled = (source: string, name: string) => compileScript(source, join(folder, name));
  const kinds = [
    knownGenerations(
      await compiled("test/retrieval/index/write/endless-builder.ts", "one"),
      join(folder, "generations"),
    ),
    competingWriters(
      await compiled("test/campaigns/competing-writer.ts", "two"),
      join(folder, "competition"),
    ),
    synchronisations(
      await compiled("test/campaigns/syncing-process.ts", "three"),
      join(folder, "synchronised"),
    ),
  ];
  return {
    counts,
    async kill(number: number): Promise<void> {
      counts.processes++;
      await kinds[number % kinds.length]!.kill();
    },
    async close(): Promise<void> {
      for (const kind of kinds) await kind.close();
    },
  };

  /** One writer, whose generations have known contents. */
  function knownGenerations(script: string, directory: string): KilledWriters {
    let generation = 0;
    return {
      async kill() {
        const writer = await startScript(script, [directory]);
        await sleep(random.next() * LONGEST_LIFE_MS);
        await killProcess(writer);
        const found = (await findManifest(directory))?.generation ?? 0;
        if (found < generation) throw new Failed("lost", `generation ${found} after ${generation}`);
        generation = found;
        if (generation > 0) await checkContents(directory, contentsOf(generation));
      },
      async close() {},
    };
  }

  /** Two writers of a compressed index, of which one after the other is killed. */
  function competingWriters(script: string, directory: string): KilledWriters {
    const writers: ChildProcess[] = [];
    let kills = 0;
    let open: TokenIndex | undefined;
    const begin = () => startScript(script, [directory, `${kills * 97 + 10}`]);
    return {
      async kill() {
        for (const writer of [0, 1]) writers[writer] ??= await begin();
        const deadline = performance.now() + random.next() * LONGEST_LIFE_MS;
        do {
          if (!(await findManifest(directory))) await sleep(20);
          else {
            await searchBeside(directory);
            open ??= await openIndex(directory, { threads: 1 });
            await searchRefreshed(open, directory);
          }
        } while (performance.now() < deadline);
        const victim = kills++ % 2;
        if (writers[victim]!.exitCode !== null) throw new Failed("ended", `writer ${victim}`);
        await killProcess(writers[victim]!);
        writers[victim] = await begin();
      },
      async close() {
        await open?.close();
        for (const writer of writers) await killProcess(writer);
      },
    };
  }

  async function searchBeside(directory: string): Promise<void> {
    await checkVerified(directory);
    await using index = await openIndex(directory, { threads: 1 });
    await index.snapshot(checkSearch);
  }

  async function searchRefreshed(index: TokenIndex, directory: string): Promise<void> {
    const { generation } = index;
    const found = (await findManifest(directory))!.generation;
    await index.refresh();
    if (index.generation < Math.max(generation, found))
      throw new Error(`refreshed from ${generation} to ${index.generation}, not to ${found}`);
    counts.refreshes++;
    await index.snapshot(checkSearch);
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

  /** A process that brings an index up to date with a folder, which changes after each kill. */
  function synchronisations(script: string, parent: string): KilledWriters {
    const states = folderStates(model)(parent);
    let kills = 0;
    /** The states of the folder that the index may have. */
    let possible: ReadonlySet<number> = new Set();
    return {
      async kill() {
        const state = kills++ % states.count;
        await states.write(state);
        const child = await startScript(script, [states.folder, states.directory]);
        const end = once(child, "exit");
        await Promise.race([end, sleep(random.next() * LONGEST_SYNC_MS)]);
        if (child.exitCode !== null && child.exitCode !== 0)
          throw new Failed("ended", `a synchronisation ended with ${child.exitCode}`);
        const isWhole = child.exitCode === 0;
        await killProcess(child);
        const found = await states.indexed();
        if (found === undefined) {
          if (isWhole || possible.size > 0) throw new Failed("lost", "the index is gone");
          return;
        }
        const allowed = isWhole ? [state] : [...possible, state];
        const at = allowed.filter((state) => states.areThose(found, state));
        if (at.length === 0) throw new Failed("wrong", "passages of no state of the folder");
        possible = new Set(at);
        if (kills % REPAIR_EVERY > 0) return;
        counts.repairs++;
        await states.repair(state);
        possible = new Set([state]);
      },
      async close() {},
    };
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
