/**
 * Power cuts: records what writers of indexes, synchronisations, models and checkpoints do to the
 * disk, and checks what survives a cut after each change (recorded-disk.ts has the three modes).
 *
 *     npx tsx test/campaigns/power-cuts.ts --count 5000 --seed 1
 *
 * After every cut the index must open as one whole state, no older than the last change that was
 * reported as complete. One cut of 25 also repeats the interrupted change.
 */

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRandom } from "../../src/math/random.ts";
import { ReAtt } from "../../src/reatt.ts";
import {
  campaignFolder,
  campaignOptions,
  collectFailures,
  type Failures,
  finish,
  startProgress,
} from "./campaign.ts";
import { type History, histories, makeShards } from "./power-cut-histories.ts";
import { Disk, MODES, type Mode, type Recording, recordDisk, type Tree } from "./recorded-disk.ts";

const RESUME_EVERY = 25;

interface Cut {
  readonly history: History;
  readonly recording: Recording;
  /** Changes before the cut. */
  readonly at: number;
  readonly mode: Mode;
}

const { count, seed: firstSeed } = campaignOptions(300);
// in memory if possible: the disk is simulated
const folder = campaignFolder("cuts", existsSync("/dev/shm") ? "/dev/shm" : tmpdir());
const progress = startProgress("power cuts", count);
const failures = collectFailures();
/** The state that was found in each different tree: an equal tree is not checked again. */
const states = new Map<string, number>();
const counts = { "power cuts": 0, ordered: 0, strict: 0, mixed: 0, resumed: 0 };
const model = await ReAtt.load("models/reatt-mini", { threads: 1 });
const shards = await makeShards(join(folder, "shards"));
for (let seed = firstSeed; counts["power cuts"] < count; seed++) {
  const cuts: Cut[] = [];
  for (const history of histories(seed, shards, model)) {
    const root = join(folder, "recorded");
    mkdirSync(root);
    const recording = await recordDisk(root, (done) => history.run(root, done));
    rmSync(root, { recursive: true });
    for (let at = 0; at <= recording.changes.length; at++)
      for (const mode of MODES) cuts.push({ history, recording, at, mode });
  }
  await checkCuts(spread(cuts, count - counts["power cuts"]), seed, failures);
}
await model.close();
finish({ ...counts, "different states": states.size }, failures);

/** `most` of the items at equal distances, or all. */
function spread<T>(items: readonly T[], most: number): T[] {
  const size = Math.min(most, items.length);
  return Array.from({ length: size }, (_, i) => items[Math.floor((i * items.length) / size)]!);
}

/** Checks the cuts, which are in the order of their recordings. */
async function checkCuts(cuts: readonly Cut[], seed: number, failures: Failures): Promise<void> {
  let replay = { recording: undefined as Recording | undefined, disk: new Disk(new Map()), at: 0 };
  let done = 0;
  for (const { history, recording, at, mode } of cuts) {
    if (replay.recording !== recording) {
      replay = { recording, disk: new Disk(recording.before), at: 0 };
      done = 0;
    }
    for (; replay.at < at; replay.at++) {
      const change = recording.changes[replay.at]!;
      replay.disk.apply(change);
      if (change.kind === "done") done++;
    }
    const resume = counts["power cuts"]++ % RESUME_EVERY === 0;
    progress(counts["power cuts"]);
    counts[mode]++;
    if (resume) counts.resumed++;
    const tree = replay.disk.survivors(mode, createRandom(seed, history.name, at));
    const key = `${history.name} ${seed} ${digest(tree)}`;
    const what = `${history.name} ${seed}, ${mode}, change ${at}`;
    try {
      let found = states.get(key);
      if (found === undefined || resume) {
        found = await checkTree(tree, history, done, resume);
        states.set(key, found);
      } else if (found < done) throw new Error(`change ${found} after ${done} was complete`);
    } catch (error) {
      failures.add(what, error);
    }
  }
}

async function checkTree(
  tree: Tree,
  history: History,
  done: number,
  resume: boolean,
): Promise<number> {
  const root = join(folder, "survived");
  writeTree(tree, root);
  try {
    return await history.check(root, done, resume);
  } finally {
    rmSync(root, { recursive: true });
  }
}

function writeTree(tree: Tree, folder: string): void {
  mkdirSync(folder);
  for (const [name, child] of tree)
    if (Buffer.isBuffer(child)) writeFileSync(join(folder, name), child);
    else writeTree(child, join(folder, name));
}

function digest(tree: Tree): string {
  const hash = createHash("sha256");
  for (const [name, child] of tree) {
    const data = Buffer.isBuffer(child) ? child : digest(child);
    hash.update(`${name} ${data.length} `).update(data);
  }
  return hash.digest("hex");
}
