/**
 * Faults in the middle of changes of files: records what histories do to the disk, replays a part
 * of it, and checks what a fault after that has left.
 */

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRandom } from "../../src/math/random.ts";
import { campaignFolder } from "./campaign.ts";
import type { History } from "./histories.ts";
import {
  Disk,
  type Mode,
  type Recording,
  recordDisk,
  type Tree,
  writeTree,
} from "./recorded-disk.ts";

/** Faults in the recordings of one seed. */
const FAULTS = 300;
/**
 * From one fault to the next, modulo 300: about the golden ratio, so that few faults are spread
 * over all recordings too. It has no divisor of 300, so 300 numbers are 300 faults.
 */
const STRIDE = 187;
/** One of so many faults is followed by the change that it has interrupted. */
const RESUME_EVERY = 25;

interface Fault {
  readonly history: History;
  readonly recording: Recording;
  /** Changes before it. */
  readonly at: number;
  readonly mode: Mode;
}

interface Replay {
  readonly recording: Recording;
  readonly disk: Disk;
  /** Changes that were replayed, and how many were reported as complete. */
  at: number;
  done: number;
}

export interface Interruptions {
  /** Fault `number`: any consecutive numbers are spread over the recordings of one seed. */
  attempt(number: number): Promise<void>;
  readonly counts: Readonly<Record<string, number>>;
}

/**
 * @param histories of a seed
 * @param resumeEvery one of so many faults is followed by the change that it has interrupted
 */
export function interruptions(
  histories: (seed: number) => readonly History[],
  modes: readonly Mode[],
  { seed: firstSeed, resumeEvery = RESUME_EVERY }: { seed: number; resumeEvery?: number },
): Interruptions {
  // in memory if possible: the disk is simulated
  const folder = campaignFolder("faults", existsSync("/dev/shm") ? "/dev/shm" : tmpdir());
  const root = join(folder, "root");
  const counts: Record<string, number> = { resumed: 0, "different states": 0 };
  for (const mode of modes) counts[mode] = 0;
  let seed: number | undefined;
  let faults: readonly Fault[] = [];
  let replay: Replay | undefined;
  /** The state that was found in each different tree: an equal tree is not checked again. */
  let states = new Map<string, number>();
  return { attempt, counts };

  async function attempt(number: number): Promise<void> {
    const newSeed = firstSeed + Math.floor(number / FAULTS);
    if (newSeed !== seed) {
      faults = await record(newSeed);
      seed = newSeed;
      states = new Map();
      replay = undefined;
    }
    const place = Math.floor((((number * STRIDE) % FAULTS) * faults.length) / FAULTS);
    await check(faults[place]!, number % resumeEvery === 0);
  }

  async function record(seed: number): Promise<Fault[]> {
    const found: Fault[] = [];
    for (const history of histories(seed)) {
      mkdirSync(root);
      const recording = await recordDisk(root, (done) => history.run(root, done));
      rmSync(root, { recursive: true });
      for (let at = 0; at <= recording.changes.length; at++)
        for (const mode of modes) found.push({ history, recording, at, mode });
    }
    return found;
  }

  async function check(fault: Fault, resume: boolean): Promise<void> {
    const { history, recording, at, mode } = fault;
    counts[mode]!++;
    if (resume) counts.resumed!++;
    const { disk, done } = replayed(fault);
    const random = createRandom(seed!, history.name, at);
    const tree = disk.survivors(mode, random, recording.changes[at]);
    const key = `${history.name} ${digest(tree)}`;
    const known = states.get(key);
    if (known !== undefined && known >= done && !resume) return;
    try {
      const state = await checkTree(tree, history, done, resume);
      if (known === undefined) counts["different states"]!++;
      states.set(key, state);
    } catch (error) {
      (error as Error).message += ` (${history.name}, seed ${seed}, ${mode}, change ${at})`;
      throw error;
    }
  }

  function replayed({ recording, at }: Fault): Replay {
    if (replay?.recording !== recording || replay.at > at)
      replay = { recording, disk: new Disk(recording.before), at: 0, done: 0 };
    for (; replay.at < at; replay.at++) {
      const change = recording.changes[replay.at]!;
      replay.disk.apply(change);
      if (change.kind === "done") replay.done++;
    }
    return replay;
  }

  async function checkTree(
    tree: Tree,
    history: History,
    done: number,
    resume: boolean,
  ): Promise<number> {
    writeTree(tree, root);
    try {
      return await history.check(root, done, resume);
    } finally {
      rmSync(root, { recursive: true });
    }
  }
}

function digest(tree: Tree): string {
  const hash = createHash("sha256");
  for (const [name, child] of tree) {
    const data = Buffer.isBuffer(child) ? child : digest(child);
    hash.update(`${name} ${data.length} `).update(data);
  }
  return hash.digest("hex");
}
