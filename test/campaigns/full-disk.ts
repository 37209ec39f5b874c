/**
 * A disk that is full somewhere in the middle: indexes are built, changed, merged and synchronised,
 * and models and checkpoints are written, where only some bytes are free.
 *
 *     npx tsx test/campaigns/full-disk.ts --count 1000 --seed 1
 *
 * A change that does not fit must end in one line that says so. When there is space, what was
 * complete before must be there, and the same change must work. It takes Linux and the right to
 * mount a disk in memory.
 */

import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { InputError } from "../../src/io/errors.ts";
import { createRandom } from "../../src/math/random.ts";
import { ReAtt } from "../../src/reatt.ts";
import { campaignFolder, runCampaign, type Tries } from "./campaign.ts";
import { makeShards, trainingHistories, writerHistories } from "./histories.ts";

const DISK = "48m";
/** Free bytes are 2 to the power of a number between these. The largest history takes 8 MB. */
const [FEWEST, MOST] = [11, 23];

await runCampaign({
  script: import.meta.url,
  unit: "full disks",
  standardCount: 50,
  hungAfter: 600,
  maxBytes: 1.5e9,
  open: ({ seed }) => fullDisks(seed),
});

async function fullDisks(seed: number): Promise<Tries> {
  const counts = { full: 0, fits: 0, skipped: 0 };
  const folder = campaignFolder("full");
  const disk = join(folder, "disk");
  mkdirSync(disk);
  if (!isMounted(disk)) {
    console.log("skipped: no disk can be mounted here");
    const attempt = async (): Promise<void> => void counts.skipped++;
    return { attempt, close: async () => counts };
  }
  process.prependListener("exit", () => execFileSync("umount", ["-l", disk]));
  const model = await ReAtt.load("models/reatt-mini", { threads: 1 });
  const shards = await makeShards(join(folder, "shards"));
  for (const history of trainingHistories(seed)) {
    await history.run(disk, () => {}); // what is written where there is space
    empty(disk);
  }
  const attempt = async (number: number): Promise<void> => {
    const random = createRandom(seed, "full disk", number);
    const all = [...writerHistories(seed + number, shards, model), ...trainingHistories(seed)];
    const history = all[random.integer(all.length)]!;
    const free = 2 ** (FEWEST + (MOST - FEWEST) * random.next());
    const ballast = join(disk, "ballast");
    const { bavail, bsize } = statfsSync(disk);
    writeFileSync(ballast, new Uint8Array(Math.max(0, bavail * bsize - free)));
    let done = 0;
    try {
      const failure = await history
        .run(disk, () => done++)
        .then(
          () => undefined,
          (error: unknown) => ({ error }),
        );
      counts[failure ? "full" : "fits"]++;
      if (failure) checkLine(failure.error);
      rmSync(ballast);
      await history.check(disk, done, true);
    } catch (error) {
      (error as Error).message += ` (${history.name}, ${Math.round(free)} bytes free)`;
      throw error;
    } finally {
      empty(disk);
    }
  };
  return {
    attempt,
    async close() {
      await model.close();
      return counts;
    },
  };
}

function checkLine(error: unknown): void {
  const isLine = error instanceof InputError && error.code === "ERR_REATT_DISK_FULL";
  if (!isLine || !/ENOSPC[^\n]*; [^\n]*free some space[^\n]*$/.test(error.message)) throw error;
}

function isMounted(folder: string): boolean {
  try {
    const options = ["-t", "tmpfs", "-o", `size=${DISK}`, "tmpfs", folder];
    execFileSync("mount", options, { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

function empty(disk: string): void {
  for (const name of readdirSync(disk)) rmSync(join(disk, name), { recursive: true });
}
