/**
 * What the scripts of this folder share: `npx tsx test/campaigns/NAME.ts --count N --seed S`.
 *
 * A campaign tries something many times, each time with other faults. The tries run in a second
 * process. The first one sees if that ends or hangs, counts it, and goes on with the next number.
 */

import { type ChildProcess, fork } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { duration } from "../../src/cli/output/progress.ts";
import { isMissing } from "../../src/io/errors.ts";

const PROGRESS_INTERVAL_MS = 15_000;
const WATCH_INTERVAL_MS = 500;
/** The process of the tries loads its modules and prepares. */
const OPENING_MS = 600_000;
const SHOWN_FAILURES = 10;

/** How a try can fail. */
export type Failure = "lost" | "wrong" | "hung" | "ended" | "over memory";

/** Thrown by a try. Any other error counts as `wrong`. */
export class Failed extends Error {
  readonly failure: Failure;

  constructor(failure: Failure, message: string) {
    super(message);
    this.failure = failure;
  }
}

export interface Given {
  /** Number of tries. */
  readonly count: number;
  /** Names all random draws. */
  readonly seed: number;
  /** Number of the first try: `--from 7 --count 1` repeats number 7. */
  readonly from: number;
}

export interface Tries {
  /** Makes try `number` and throws if it fails. A try that depends on no other can be repeated. */
  attempt(number: number): Promise<void>;
  /** The last checks; numbers to print, such as those of each mode. */
  close(): Promise<Readonly<Record<string, number>>>;
}

export interface Campaign<Name extends string> {
  /** `import.meta.url` of the script. */
  readonly script: string;
  /** What is tried, in the plural. */
  readonly unit: string;
  readonly standardCount: number;
  /** Seconds without a try, on a busy machine too, after which the process of the tries hangs. */
  readonly hungAfter: number;
  /** Resident memory that it may take. */
  readonly maxBytes: number;
  /** Tries at the same time. Default: 1. */
  readonly together?: number;
  /** Further options of the command line with their defaults. */
  readonly options?: Readonly<Record<Name, string>>;
  readonly open: (given: Given & Readonly<Record<Name, string>>) => Promise<Tries>;
}

/** Where a campaign is. It is the file of `--state`, with which a stopped campaign goes on. */
interface State {
  readonly arguments: string;
  /** Number of the next try. */
  next: number;
  readonly failures: Record<Failure, number>;
  /** The sums of what the processes of the tries counted. */
  readonly counts: Record<string, number>;
  /** The most resident memory of one of them, in MB. */
  megabytes: number;
}

/** From the process of the tries to the first one. */
type Message =
  | { readonly kind: "started"; readonly number: number }
  | { readonly kind: "failed"; readonly failure: Failure; readonly what: string }
  | {
      readonly kind: "closed";
      readonly counts: Readonly<Record<string, number>>;
      readonly megabytes: number;
    };

/**
 * Runs a campaign. Prints the first failures, and at last one line: the seed, the tries, the
 * failures of each kind, and what was counted. The exit code is 1 if a try has failed.
 */
export async function runCampaign<Name extends string = never>(
  campaign: Campaign<Name>,
): Promise<void> {
  const { given, state, minutes } = readArguments(campaign);
  if (process.send) await makeTries(campaign, given);
  else await watchTries(campaign, given, state, minutes);
}

function readArguments<Name extends string>({ standardCount, options }: Campaign<Name>) {
  const others = Object.entries(options ?? {}) as [Name, string][];
  const text = (value: string) => ({ type: "string" as const, default: value });
  const { values } = parseArgs({
    options: {
      ...Object.fromEntries(others.map(([name, value]) => [name, text(value)])),
      count: text(String(standardCount)),
      seed: text("1"),
      from: text("0"),
      state: { type: "string" },
      minutes: text("Infinity"),
    },
  });
  const { state, minutes, ...rest } = values;
  const [count, seed, from] = [values.count, values.seed, values.from].map(Number);
  if (!Number.isInteger(count) || count! < 1) throw new Error(`--count ${values.count}`);
  if (!Number.isInteger(seed)) throw new Error(`--seed ${values.seed}`);
  if (!Number.isInteger(from) || from! < 0) throw new Error(`--from ${values.from}`);
  if (!(Number(minutes) > 0)) throw new Error(`--minutes ${minutes}`);
  const given = { ...rest, count: count!, seed: seed!, from: from! };
  return {
    given: given as Given & Readonly<Record<Name, string>>,
    state: state as string | undefined,
    minutes: Number(minutes),
  };
}

const folders = new Set<string>();
const children = new Set<ChildProcess>();

// Also after an error or Ctrl-C. After SIGKILL, children end because their parent is gone.
process.on("exit", () => {
  for (const child of children) child.kill("SIGKILL");
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.on(signal, () => process.exit(130));

/** A process that ends with this one. */
export function ownChild(child: ChildProcess): ChildProcess {
  children.add(child);
  return child.on("exit", () => children.delete(child));
}

/** A folder that is removed when this process ends. */
export function campaignFolder(name: string, parent: string = tmpdir()): string {
  const folder = mkdtempSync(join(parent, `reatt-${name}-`));
  folders.add(folder);
  return folder;
}

/** In the first process: starts the second, again if it ends or hangs, and prints the result. */
async function watchTries<Name extends string>(
  campaign: Campaign<Name>,
  given: Given,
  file: string | undefined,
  minutes: number,
): Promise<void> {
  const { unit } = campaign;
  const end = given.from + given.count;
  const state = readState(file, given);
  const first = state.next;
  const started = performance.now();
  let saved = started;
  const save = (): void => {
    saved = performance.now();
    if (file) writeFileSync(file, JSON.stringify(state));
    const left = ((saved - started) / (state.next - first)) * (end - state.next);
    process.stderr.write(
      `${state.next - given.from}/${given.count} ${unit}, ${duration(left / 1_000)} left\n`,
    );
  };
  const isLate = (): boolean => performance.now() - started > minutes * 60_000;
  while (state.next < end && !isLate())
    await followProcess(campaign, given, state, () => {
      if (performance.now() - saved > PROGRESS_INTERVAL_MS) save();
      return isLate();
    });
  if (file) writeFileSync(file, JSON.stringify(state));
  printResult(given, state);
}

function readState(file: string | undefined, given: Given): State {
  const state: State = {
    arguments: JSON.stringify(given),
    next: given.from,
    failures: { lost: 0, wrong: 0, hung: 0, ended: 0, "over memory": 0 },
    counts: {},
    megabytes: 0,
  };
  if (file === undefined) return state;
  try {
    const found: State = JSON.parse(readFileSync(file, "utf8"));
    if (found.arguments !== state.arguments) throw new Error(`${file} is of ${found.arguments}`);
    return found;
  } catch (error) {
    if (isMissing(error)) return state;
    throw error;
  }
}

/** Follows one process of the tries to its end. `onTry` returns true if it must stop. */
async function followProcess<Name extends string>(
  { script, hungAfter }: Campaign<Name>,
  given: Given,
  state: State,
  onTry: () => boolean,
): Promise<void> {
  const end = given.from + given.count;
  const options = { ...given, from: state.next, count: end - state.next };
  const child = ownChild(
    fork(
      fileURLToPath(script),
      Object.entries(options).flatMap(([name, value]) => [`--${name}`, `${value}`]),
    ),
  );
  let heard = performance.now() + OPENING_MS;
  let isOpen = false;
  let isClosed = false;
  let isHung = false;
  const fail = (failure: Failure, what: string): void => {
    const sum = Object.values(state.failures).reduce((sum, count) => sum + count, 0);
    if (sum < SHOWN_FAILURES) console.log(`FAILED (${failure}) ${what}`);
    state.failures[failure]++;
  };
  child.on("message", (message: Message) => {
    heard = performance.now();
    if (message.kind === "failed") fail(message.failure, message.what);
    else if (message.kind === "started") {
      isOpen = true;
      state.next = message.number;
      if (onTry()) child.send("stop");
    } else {
      isClosed = true;
      state.megabytes = Math.max(state.megabytes, message.megabytes);
      for (const [name, count] of Object.entries(message.counts))
        state.counts[name] = (state.counts[name] ?? 0) + count;
    }
  });
  const watch = setInterval(() => {
    if (performance.now() - heard < hungAfter * 1_000) return;
    isHung = true;
    child.kill("SIGKILL");
  }, WATCH_INTERVAL_MS);
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve) =>
    child.once("exit", (...end) => resolve(end)),
  );
  clearInterval(watch);
  if (!isOpen) throw new Error(`the process of the tries did not start: ${code ?? signal}`);
  if (isHung) fail("hung", `number ${state.next}: nothing for ${hungAfter} s`);
  else if (!isClosed || code !== 0)
    fail("ended", `number ${state.next}: the process ended with ${code ?? signal}`);
  if (isHung || !isClosed) state.next++;
}

function printResult({ seed, from }: Given, { next, failures, counts, megabytes }: State): void {
  const list = (parts: object) =>
    Object.entries(parts)
      .map(([name, count]) => `${name} ${count}`)
      .join(", ");
  const all = { seed, ...counts, "most MB": megabytes };
  console.log(`${list(all)}: ${list({ tried: next - from, ...failures })}`);
  process.exitCode = Object.values(failures).some((count) => count > 0) ? 1 : 0;
}

/** In the second process: makes the tries and reports each. */
async function makeTries<Name extends string>(
  { together = 1, maxBytes, open }: Campaign<Name>,
  given: Given & Readonly<Record<Name, string>>,
): Promise<void> {
  const send = (message: Message): Promise<void> =>
    new Promise((resolve) => process.send!(message, () => resolve()));
  const failed = (number: number, error: unknown): void => {
    const text = error instanceof Error ? `${error.message}\n${error.stack}` : String(error);
    const failure = error instanceof Failed ? error.failure : "wrong";
    send({ kind: "failed", failure, what: `number ${number}: ${text}` });
  };
  let isStopped = false;
  process.on("message", () => {
    isStopped = true;
  });
  process.on("disconnect", () => process.exit(1));
  const end = given.from + given.count;
  let most = maxBytes;
  const tries = await open(given);
  send({ kind: "started", number: given.from });
  for (let first = given.from; first < end && !isStopped; first += together) {
    const numbers = Array.from({ length: Math.min(together, end - first) }, (_, i) => first + i);
    await Promise.all(
      numbers.map((number) => tries.attempt(number).catch((error) => failed(number, error))),
    );
    if (mostBytes() > most) {
      failed(first, new Failed("over memory", `${mostBytes()} bytes`));
      most = 1.5 * mostBytes();
    }
    send({ kind: "started", number: first + numbers.length });
    await nextTurn(); // messages arrive
  }
  const counts = await tries.close().catch((error: unknown) => {
    failed(end, error);
    return {};
  });
  await send({ kind: "closed", counts, megabytes: Math.round(mostBytes() / 1e6) });
  process.exit(0);
}

const mostBytes = (): number => process.resourceUsage().maxRSS * 1024;
