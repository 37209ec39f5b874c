/** Starts or resumes a run of training-process.ts, and kills it after some time. */

import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { killProcess, startScript } from "./script-processes.ts";
import type { TrainedRun } from "./training-process.ts";

const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * @param script the compiled training-process.ts
 * @param out the folder of the run
 * @returns true if the run ended before it was killed
 */
export async function runFor(
  milliseconds: number,
  script: string,
  run: TrainedRun,
  out: string,
): Promise<boolean> {
  const given = { ...run, options: { ...run.options, out, resume: true } };
  const child = await startScript(script, [JSON.stringify(given)]);
  child.stdout!.resume();
  const exit = child.exitCode === null ? once(child, "exit") : undefined;
  const stop = new AbortController();
  const time = Math.min(milliseconds, LONGEST_TIMER_MS);
  await Promise.race([exit, sleep(time, undefined, { signal: stop.signal }).catch(() => {})]);
  stop.abort();
  if (child.exitCode === 0) return true;
  if (child.exitCode !== null) throw new Error(`the run ended with the code ${child.exitCode}`);
  await killProcess(child);
  return false;
}
