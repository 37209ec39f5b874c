/**
 * Power cuts: records what writers of indexes, synchronisations, models and checkpoints do to the
 * disk, and checks what survives a cut after each change (recorded-disk.ts has the three modes).
 *
 *     npx tsx test/campaigns/power-cuts.ts --count 5000 --seed 1
 *
 * After every cut the index must open as one whole state, no older than the last change that was
 * reported as complete. One cut of 25 also repeats the interrupted change. The first campaign had
 * 5,000 cuts.
 */

import { join } from "node:path";
import { ReAtt } from "../../src/reatt.ts";
import { campaignFolder, runCampaign } from "./campaign.ts";
import { makeShards, trainingHistories, writerHistories } from "./histories.ts";
import { interruptions } from "./interruptions.ts";

await runCampaign({
  script: import.meta.url,
  unit: "power cuts",
  standardCount: 300,
  hungAfter: 600,
  maxBytes: 1.5e9,
  async open({ seed }) {
    const model = await ReAtt.load("models/reatt-mini", { threads: 1 });
    const shards = await makeShards(join(campaignFolder("cuts"), "shards"));
    const { attempt, counts } = interruptions(
      (seed) => [...writerHistories(seed, shards, model), ...trainingHistories(seed)],
      ["ordered", "strict", "mixed"],
      { seed },
    );
    return {
      attempt,
      async close() {
        await model.close();
        return counts;
      },
    };
  },
});
