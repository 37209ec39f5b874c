/**
 * Kills of writers of indexes at random moments (SIGKILL), and searches beside them.
 *
 *     npx tsx test/campaigns/writer-kills.ts --count 10000 --seed 1
 *
 * Nine of ten kills are simulated, which costs no process: what a writer did to the disk is
 * replayed up to a random moment, perhaps with a part of the next write, and with the lock of a
 * process that has ended. Builds, additions, deletions, compactions, merges, compressed builds and
 * synchronisations are interrupted so. One of five is followed by the interrupted change.
 *
 * One of ten kills a process (killed-writers.ts): a writer of known generations, one of two that
 * compete for a compressed index, or one that synchronises a folder. The first campaign killed
 * 10,000 processes, none that synchronised.
 */

import { join } from "node:path";
import { createRandom } from "../../src/math/random.ts";
import { ReAtt } from "../../src/reatt.ts";
import { campaignFolder, runCampaign } from "./campaign.ts";
import { makeShards, writerHistories } from "./histories.ts";
import { interruptions } from "./interruptions.ts";
import { killedWriters } from "./killed-writers.ts";

const REAL_EVERY = 10;
const RESUME_EVERY = 5;

await runCampaign({
  script: import.meta.url,
  unit: "kills",
  standardCount: 100,
  hungAfter: 600,
  maxBytes: 1.5e9,
  async open({ seed }) {
    const folder = campaignFolder("kills");
    const model = await ReAtt.load("models/reatt-mini", { threads: 1 });
    const shards = await makeShards(join(folder, "shards"));
    const simulated = interruptions((seed) => writerHistories(seed, shards, model), ["killed"], {
      ...{ seed, resumeEvery: RESUME_EVERY },
    });
    const writers = await killedWriters(folder, model, createRandom(seed, "writer kills"));
    return {
      attempt: (number) =>
        number % REAL_EVERY === REAL_EVERY - 1
          ? writers.kill(Math.floor(number / REAL_EVERY))
          : simulated.attempt(number),
      async close() {
        await writers.close();
        await model.close();
        return { ...simulated.counts, ...writers.counts };
      },
    };
  },
});
