/**
 * Kills of training at random moments (SIGKILL), while a second process finds new candidates.
 *
 *     npx tsx test/campaigns/refresh-kills.ts --count 200 --seed 1
 *
 * The step of a swap of candidates depends on the duration of the search, so a killed run can end
 * with other weights than one that was not killed. But what it recorded must stay: the swaps, and
 * the losses of all steps that no later search can change. No process may be left. The first
 * campaign had 12 kills.
 */

import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { createRandom } from "../../src/math/random.ts";
import { type MetricsRecord, readMetrics } from "../../src/training/report/metrics-log.ts";
import { runFolder } from "../../src/training/run/run-folder.ts";
import { compileScript } from "../retrieval/index/write/compile-script.ts";
import { writeSmallRun } from "../support/training.ts";
import { campaignFolder, Failed, runCampaign, type Tries } from "./campaign.ts";
import { runFor } from "./killed-run.ts";
import type { TrainedRun } from "./training-process.ts";

const KILLS_PER_RUN = 4;
const REFRESH_STEPS = 20;
const STEPS = 200;
/** The search must end before the steps do. */
const STEP_MS = 20;
const SEARCH_PROCESS = "src/training/run/candidate-search-process.ts";

interface Swap {
  readonly step: number;
  readonly snapshot: number;
}

/** What a run has recorded that must not change. */
interface Fixed {
  readonly swaps: readonly Swap[];
  readonly losses: readonly MetricsRecord[];
}

await runCampaign({
  script: import.meta.url,
  unit: "kills",
  standardCount: 8,
  hungAfter: 600,
  maxBytes: 1.5e9,
  open: ({ seed }) => kills(seed),
});

async function kills(seed: number): Promise<Tries> {
  const folder = campaignFolder("refresh-kills");
  const script = await compileScript(
    "test/campaigns/training-process.ts",
    join(folder, "compiled"),
    [SEARCH_PROCESS],
  );
  const { dev: _, ...small } = await writeSmallRun(folder);
  const background = { refresh: "background", refreshSteps: REFRESH_STEPS } as const;
  const run: TrainedRun = {
    kind: "train",
    options: { ...small, ...background, holdOut: false, iterations: 1, steps: STEPS, questions: 2 },
    stepMilliseconds: STEP_MS,
  };
  const counts = { "beside a search": 0, "runs to the end": 0, swaps: 0 };
  let begun = 0;
  let current = nextRun();
  const start = performance.now();
  await live(Infinity);
  const milliseconds = performance.now() - start;
  return {
    async attempt(number) {
      const random = createRandom(seed, "refresh kills", number);
      while (await live(current.kills < KILLS_PER_RUN ? milliseconds * random.next() : Infinity));
      current.kills++;
      if (await endOfSearches(current.out)) counts["beside a search"]++;
    },
    async close() {
      await live(Infinity);
      return counts;
    },
  };

  function nextRun() {
    return { out: join(folder, `${begun++}`), kills: 0, fixed: { swaps: [], losses: [] } as Fixed };
  }

  /** Starts or resumes the run. @returns true if it ended before it was killed */
  async function live(time: number): Promise<boolean> {
    const { out, fixed } = current;
    const ended = await runFor(time, script, run, out);
    const now = await recorded(out);
    checkKept(fixed, now);
    current.fixed = now;
    if (!ended) return false;
    current = nextRun();
    counts["runs to the end"]++;
    counts.swaps += now.swaps.length;
    await checkStaleness(out, now);
    for (const made of [out, runFolder(out)]) rmSync(made, { recursive: true });
    return true;
  }
}

async function checkStaleness(out: string, { swaps }: Fixed): Promise<void> {
  const losses = await lossesOf(out);
  if (losses.length !== STEPS) throw new Error(`${losses.length} steps in the log`);
  for (const { step, staleness } of losses) {
    const swap = swaps.findLast((swap) => swap.step < step);
    const expected = swap && step - 1 - swap.snapshot;
    if (staleness !== expected) throw new Error(`step ${step} has the staleness ${staleness}`);
  }
}

async function recorded(out: string): Promise<Fixed> {
  const file = join(runFolder(out), "checkpoint", "refreshes.json");
  const swaps: Swap[] = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : [];
  const { step, snapshot } = swaps.at(-1) ?? { step: 0, snapshot: 0 };
  const last = Math.max(step, snapshot + REFRESH_STEPS); // the next search begins here or later
  return { swaps, losses: (await lossesOf(out)).filter((record) => record.step <= last) };
}

async function lossesOf(out: string): Promise<MetricsRecord[]> {
  const records = await readMetrics(join(runFolder(out), "metrics.jsonl"));
  return records
    .filter((record) => "nll" in record)
    .map((record) => ({ ...record, seconds: 0, questionsPerSecond: 0 }));
}

/** A step that is logged but not in the checkpoint is done again, and may not be logged yet. */
function checkKept(before: Fixed, now: Fixed): void {
  if (!isDeepStrictEqual(now.swaps.slice(0, before.swaps.length), before.swaps))
    throw new Failed(
      "lost",
      `swaps ${JSON.stringify(before.swaps)} became ${JSON.stringify(now.swaps)}`,
    );
  const later = new Map(now.losses.map((record) => [record.step, record]));
  for (const record of before.losses) {
    const again = later.get(record.step);
    if (again && !isDeepStrictEqual(again, record))
      throw new Error(`step ${record.step}: ${JSON.stringify([record, again])}`);
  }
}

/** Waits for the end of the processes of a killed run. @returns whether there was one */
async function endOfSearches(out: string): Promise<boolean> {
  const found = searches(out);
  while (searches(out)) await sleep(50); // as long as one of its computations takes
  return found;
}

/** Whether a process was told of the folder of the run's snapshots. Only Linux has /proc. */
function searches(out: string): boolean {
  const ids = existsSync("/proc") ? readdirSync("/proc").filter((name) => /^\d+$/.test(name)) : [];
  return ids.some((id) => {
    try {
      return readFileSync(`/proc/${id}/cmdline`, "utf8").includes(
        join(runFolder(out), "checkpoint/refresh"),
      );
    } catch {
      return false; // it has ended
    }
  });
}
