/** What the scripts of this folder share: `npx tsx test/campaigns/NAME.ts --count N --seed S`. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { duration } from "../../src/cli/progress.ts";

const PROGRESS_INTERVAL_MS = 15_000;

export interface CampaignOptions {
  /** Faults to cause, or operations to do. */
  readonly count: number;
  /** Names all random draws. */
  readonly seed: number;
  /** Number of the first one: `--from 7 --count 1` repeats number 7. */
  readonly from: number;
}

/**
 * The options of the command line.
 *
 * @param others further options with their defaults
 */
export function campaignOptions<Name extends string = never>(
  standardCount: number,
  others: Readonly<Record<Name, string>> = {} as Record<Name, string>,
): CampaignOptions & Readonly<Record<Name, string>> {
  const names = Object.entries(others) as [Name, string][];
  const { values } = parseArgs({
    options: {
      ...Object.fromEntries(
        names.map(([name, value]) => [name, { type: "string" as const, default: value }]),
      ),
      count: { type: "string", default: String(standardCount) },
      seed: { type: "string", default: "1" },
      from: { type: "string", default: "0" },
    },
  });
  const [count, seed, from] = [values.count, values.seed, values.from].map(Number);
  if (!Number.isInteger(count) || count! < 1) throw new Error(`--count ${values.count}`);
  if (!Number.isInteger(seed)) throw new Error(`--seed ${values.seed}`);
  if (!Number.isInteger(from) || from! < 0) throw new Error(`--from ${values.from}`);
  const given = values as unknown as Record<Name, string>;
  usedSeed = seed!;
  return { ...given, count: count!, seed: seed!, from: from! };
}

/** For the line of `finish`: it says how to repeat the run. */
let usedSeed = 0;

const children = new Set<ChildProcess>();
const folders = new Set<string>();

// Also after an error or Ctrl-C. After SIGKILL, children end because their stdin ends.
process.on("exit", () => {
  for (const child of children) child.kill("SIGKILL");
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.on(signal, () => process.exit(130));

/** A folder that is removed when this process ends. */
export function campaignFolder(name: string, parent: string = tmpdir()): string {
  const folder = mkdtempSync(join(parent, `reatt-${name}-`));
  folders.add(folder);
  return folder;
}

/**
 * Starts a script that writes a line when it is ready, and waits for that. The script calls
 * `endWithParent`. This process kills it if it ends before.
 */
export async function startScript(script: string, given: readonly string[]): Promise<ChildProcess> {
  const child = spawn(process.execPath, [script, ...given], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  children.add(child);
  child.on("exit", () => children.delete(child));
  await Promise.race([once(child.stdout, "data"), once(child, "exit")]);
  return child;
}

/** Kills a process and waits for its end. */
export async function killProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, "exit");
  child.kill("SIGKILL");
  await exit;
}

export interface Failures {
  add(what: string, error: unknown): void;
  readonly count: number;
}

/** Collects failures and prints the first of them. */
export function collectFailures(): Failures {
  let count = 0;
  return {
    get count() {
      return count;
    },
    add(what, error) {
      if (count++ < 10)
        console.log(`FAILED ${what}: ${error instanceof Error ? error.stack : error}`);
    },
  };
}

/** Writes the number of items done and the time left to stderr, from time to time. */
export function startProgress(unit: string, total: number): (done: number) => void {
  const started = performance.now();
  let next = started + PROGRESS_INTERVAL_MS;
  return (done) => {
    const now = performance.now();
    if (now < next) return;
    next = now + PROGRESS_INTERVAL_MS;
    const left = (((now - started) / done) * (total - done)) / 1_000;
    process.stderr.write(`${done}/${total} ${unit}, ${duration(left)} left\n`);
  };
}

/** Prints the seed and the counts in one line and sets the exit code. */
export function finish(counts: Readonly<Record<string, number>>, failures: Failures): void {
  const parts = Object.entries({ seed: usedSeed, ...counts, failures: failures.count });
  console.log(parts.map(([name, count]) => `${name} ${count}`).join(", "));
  process.exitCode = failures.count > 0 ? 1 : 0;
}
