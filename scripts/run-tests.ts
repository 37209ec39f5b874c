/**
 * Runs test files: `npm test [PATTERN] [-- --time-limit SECONDS] [--seed N]`.
 *
 * Every test/**\/*.test.ts whose path contains PATTERN runs in its own process, two at a time. The
 * output of a file is printed whole, with its seconds, in the order of the files. A file fails if
 * one of its tests fails, if it crashes or hangs, or if it runs no test, as a uvu suite without
 * `.run()` does. Files with skipped tests are named at the end, with the lines in which they say
 * why (`skipped: ...`). The last line is `N passed, N failed`, followed by `, N skipped` if any
 * were.
 *
 * Properties of random values have the seed N, 1 unless it is given, so that a run can be repeated.
 * A file that is run without this script draws another seed each time.
 *
 * As `.build/tests/scripts/run-tests.js`, which scripts/test compiles, it runs compiled tests.
 */

import { spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

interface Outcome extends Counts {
  file: string;
  output: string;
  /** Wall-clock time. */
  seconds: number;
  /** What went wrong with the file, apart from its tests. */
  fault: string | undefined;
}

const SIMULTANEOUS_FILES = 2;
const SLOWEST_SHOWN = 15;
const TIME_LIMIT_S = 600; // an open handle keeps a uvu process alive

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    "time-limit": { type: "string", default: String(TIME_LIMIT_S) },
    seed: { type: "string", default: "1" },
  },
});
const timeLimitMs = Number(values["time-limit"]) * 1000;
const files = findTests(positionals[0] ?? "");
const logs = mkdtempSync(join(tmpdir(), "reatt-tests-"));
const outcomes = await runAll(files);
rmSync(logs, { recursive: true });
summarize(outcomes);

function findTests(pattern: string): string[] {
  return readdirSync("test", { recursive: true, encoding: "utf8" })
    .map((path) => join("test", path))
    .filter((path) => path.endsWith(".test.ts") && path.includes(pattern))
    .sort();
}

async function runAll(files: readonly string[]): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  let started = 0;
  let printed = 0;
  async function work(): Promise<void> {
    while (started < files.length) {
      const index = started++;
      outcomes[index] = await runFile(files[index]!, join(logs, `${index}.log`));
      for (; outcomes[printed] !== undefined; printed++) print(outcomes[printed]!);
    }
  }
  await Promise.all(Array.from({ length: SIMULTANEOUS_FILES }, work));
  return outcomes;
}

async function runFile(file: string, logPath: string): Promise<Outcome> {
  // A log file instead of a pipe: a process that the test leaves running would keep a pipe open.
  const log = openSync(logPath, "w");
  const started = performance.now();
  const child = spawn(process.execPath, commandOf(file), {
    stdio: ["ignore", log, log],
    env: { ...process.env, FORCE_COLOR: "0", REATT_FUZZ_SEED: values.seed },
    timeout: timeLimitMs,
    killSignal: "SIGKILL",
  });
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>(
    (resolve, reject) => {
      child.once("error", reject).once("exit", (...status) => resolve(status));
    },
  );
  closeSync(log);
  const output = readFileSync(logPath, "utf8");
  const seconds = (performance.now() - started) / 1000;
  return { file, output, seconds, ...judge(output, code, signal) };
}

/** The arguments of Node for a test file, compiled if this script is. */
function commandOf(file: string): string[] {
  const hasProperties = readFileSync(file, "utf8").includes('from "fast-check"');
  const seed = (module: string): string[] => (hasProperties ? ["--import", module] : []);
  if (import.meta.url.endsWith(".ts"))
    return ["--import", "tsx", ...seed("./test/fuzz-seed.ts"), file];
  const build = relative(".", fileURLToPath(new URL("..", import.meta.url)));
  const compiled = join(build, file.replace(/\.ts$/, ".js"));
  return [...seed(`./${join(build, "test/fuzz-seed.js")}`), compiled];
}

function judge(
  output: string,
  code: number | null,
  signal: string | null,
): Counts & Pick<Outcome, "fault"> {
  const total = summaryNumber(output, "Total");
  const passed = summaryNumber(output, "Passed");
  const skipped = summaryNumber(output, "Skipped");
  const failed = total - passed;
  let fault: string | undefined;
  if (signal === "SIGKILL") fault = `was killed (it may take ${timeLimitMs / 1000} s)`;
  else if (signal !== null) fault = `crashed with ${signal}`;
  else if (code !== 0 && failed === 0) fault = `crashed with exit code ${code}`;
  else if (total + skipped === 0) fault = "ran no test: does the file call test.run()?";
  return { passed, failed: failed + (fault === undefined ? 0 : 1), skipped, fault };
}

/** A number of uvu's last summary; 0 if the file ended before it. */
function summaryNumber(output: string, name: "Total" | "Passed" | "Skipped"): number {
  const lines = [...output.matchAll(new RegExp(`^  ${name}: +(\\d+)$`, "gm"))];
  return Number(lines.at(-1)?.[1] ?? 0);
}

function print({ file, output, seconds, fault }: Outcome): void {
  console.log(`\n${file} (${seconds.toFixed(1)} s)\n${output.trimEnd()}`);
  if (fault !== undefined) console.log(`  FAIL  ${file} ${fault}`);
}

function summarize(outcomes: readonly Outcome[]): void {
  const sum = (key: keyof Counts): number =>
    outcomes.reduce((total, outcome) => total + outcome[key], 0);
  const bad = outcomes.filter(({ failed }) => failed > 0);
  if (outcomes.length === 0) console.log(`no test file matches "${positionals[0] ?? ""}"`);
  const slowest = outcomes.toSorted((a, b) => b.seconds - a.seconds).slice(0, SLOWEST_SHOWN);
  console.log("\nSlowest:");
  for (const { file, seconds } of slowest) console.log(`  ${seconds.toFixed(1)} s  ${file}`);
  if (bad.length > 0) console.log(`\nFailed:\n${bad.map(({ file }) => `  ${file}`).join("\n")}`);
  const failed = outcomes.length === 0 ? 1 : sum("failed");
  const skipped = outcomes.filter((outcome) => outcome.skipped > 0);
  if (skipped.length > 0) console.log(`\nSkipped:\n${skipped.map(skippedLines).join("\n")}`);
  const others = skipped.length > 0 ? `, ${sum("skipped")} skipped` : "";
  console.log(`\n${sum("passed")} passed, ${failed} failed${others}`);
  process.exitCode = failed === 0 ? 0 : 1;
}

/** How many tests of a file were skipped, and why it says so. */
function skippedLines({ file, skipped, output }: Outcome): string {
  const reasons = output.match(/^skipped: .*$/gm) ?? [];
  return [`  ${skipped}  ${file}`, ...reasons.map((reason) => `       ${reason}`)].join("\n");
}
