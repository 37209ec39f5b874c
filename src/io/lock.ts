/**
 * A lock for one writer at a time, which does not outlive a crashed process.
 *
 * A lock is an empty file with the name of its writer: `writer.HOST.MACHINE.PID.BIRTH.lock`. A
 * process that wants to write creates its own file and then looks for others. If the writer of
 * another file is alive, the process removes its own file and gives up. Every process creates its
 * file before it looks, so two processes cannot both get the lock.
 *
 * A writer on this machine is alive if a process with its PID and BIRTH exists, so a reused PID
 * does not count. MACHINE identifies host, boot and PID namespace. A writer on another machine (a
 * network disk, a container) is alive while it updates the time of its file, every `BEAT_MS`.
 */

import { AsyncLocalStorage } from "node:async_hooks";
import { createHash, randomInt } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { readdir, realpath, rm, stat, utimes } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { InputError, isMissing, isSystemError, writeErrorFrom } from "./errors.ts";
import { openFile } from "./open-file.ts";

const BEAT_MS = 10_000;
/**
 * Milliseconds without an update after which a writer on another machine counts as dead: a
 * heartbeat, 60 s for which a network disk may cache file times, and a margin for clocks.
 */
const DEAD_MS = 120_000;
/** If two processes start at the same moment, both give up; they try again after a random delay. */
const ATTEMPTS = 5;
/** Between two attempts of a process that waits for another. */
const WAIT_MS = 500;

export interface Lock extends AsyncDisposable {
  /** @throws {InputError} if the lock is lost because this process slept until another took over */
  assertHeld(): Promise<void>;
}

/** How a writer waits for another. */
export interface LockOptions {
  /** Seconds to wait for another process. Default: 0. */
  readonly wait?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The directories that the current call writes, with what it calls. */
const written = new AsyncLocalStorage<readonly string[]>();

/** Does `work` while this call writes `directory`. @throws as `lockDirectory` */
export async function whileLocked<Result>(
  directory: string,
  options: LockOptions,
  work: (lock: Lock) => Promise<Result>,
): Promise<Result> {
  await using lock = await lockDirectory(directory, options);
  const all = [...(written.getStore() ?? []), await realpath(directory)];
  return await written.run(all, () => work(lock));
}

/**
 * Locks `directory`, which must exist, for writing. Calls of one process get the lock one after the
 * other.
 *
 * @throws {InputError} `ERR_REATT_BUSY` if another process writes, and still does after `wait`
 * seconds, or if this call is a part of one that writes: it would wait for itself
 * @throws {InputError} if the system cannot write
 * @throws the reason of `signal` if it aborts
 */
export async function lockDirectory(
  directory: string,
  { wait = 0, signal }: LockOptions = {},
): Promise<Lock> {
  const place = await realpath(directory).catch((error: unknown) => {
    throw writeErrorFrom(error, directory);
  });
  if (written.getStore()?.includes(place)) throw taken(directory, ownName());
  const endTurn = await takeTurn(place, signal);
  try {
    const lock = await lockWithin(directory, performance.now() + wait * 1_000, signal);
    return {
      ...lock,
      async [Symbol.asyncDispose]() {
        try {
          await lock[Symbol.asyncDispose]();
        } finally {
          endTurn();
        }
      },
    };
  } catch (error) {
    endTurn();
    throw writeErrorFrom(error, directory);
  }
}

/** @param deadline a time of `performance.now()` */
async function lockWithin(
  directory: string,
  deadline: number,
  signal: AbortSignal | undefined,
): Promise<Lock> {
  for (;;) {
    const { lock, other } = await tryToLock(directory);
    if (lock) return lock;
    const left = deadline - performance.now();
    if (left <= 0) throw taken(directory, other);
    await sleep(Math.min(WAIT_MS, left), undefined, signal && { signal });
  }
}

/** For each directory, the end of the last call of this process that writes or waits. */
const turns = new Map<string, Promise<void>>();

/** Waits for the earlier calls of this process. Returns what ends the turn of this call. */
async function takeTurn(place: string, signal: AbortSignal | undefined): Promise<() => void> {
  const earlier = turns.get(place) ?? Promise.resolve();
  let end!: () => void;
  const own = new Promise<void>((resolve) => {
    end = resolve;
  });
  const last = earlier.then(() => own);
  turns.set(place, last);
  last.then(() => turns.get(place) === last && turns.delete(place));
  try {
    await orAborted(earlier, signal);
    return end;
  } catch (error) {
    end();
    throw error;
  }
}

/** Waits for `work`. @throws the reason of `signal` if it aborts before that */
async function orAborted(work: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  let abort = (): void => {};
  const aborted = new Promise<void>((_, reject) => {
    abort = () => reject(signal!.reason);
  });
  signal?.addEventListener("abort", abort);
  try {
    await Promise.race([work, aborted]);
  } finally {
    signal?.removeEventListener("abort", abort);
  }
}

/**
 * Locks `directory` as soon as no other writer is alive.
 *
 * @param onWait is called once, if there is another writer
 * @throws the reason of `signal` if it aborts
 */
export async function waitForLock(
  directory: string,
  { onWait, signal }: { readonly onWait: () => void; readonly signal?: AbortSignal | undefined },
): Promise<Lock> {
  for (let attempt = 1; ; attempt++) {
    const { lock } = await tryToLock(directory);
    if (lock) return lock;
    if (attempt === 1) onWait();
    await sleep(WAIT_MS, undefined, signal && { signal });
  }
}

/** The lock, or the name of the lock file of another writer. */
async function tryToLock(
  directory: string,
): Promise<{ lock: Lock; other?: never } | { lock?: never; other: string }> {
  const path = join(directory, ownName());
  for (let attempt = 1; ; attempt++) {
    const created = await create(path);
    const other = created ? await findLiveWriter(directory) : ownName();
    if (!other) return { lock: heldLock(directory, path) };
    if (created) await rm(path, { force: true });
    if (attempt === ATTEMPTS) return { other };
    await sleep(randomInt(20, 200));
  }
}

function heldLock(directory: string, path: string): Lock {
  const beat = setInterval(() => {
    const now = new Date();
    utimes(path, now, now).catch(() => {}); // assertHeld reports a lost lock
  }, BEAT_MS).unref();
  return {
    async assertHeld() {
      const found = await stat(path).catch((error: unknown) => {
        if (!isMissing(error)) throw error;
      });
      if (!found) throw taken(directory, await findLiveWriter(directory));
    },
    async [Symbol.asyncDispose]() {
      clearInterval(beat);
      await rm(path, { force: true });
    },
  };
}

async function create(path: string): Promise<boolean> {
  try {
    await (await openFile(path, "wx")).close();
    return true;
  } catch (error) {
    // this process writes there already
    if (isSystemError(error) && error.code === "EEXIST") return false;
    throw error;
  }
}

/**
 * The lock file of another live writer; undefined if there is none. Removes those of dead writers.
 */
async function findLiveWriter(directory: string): Promise<string | undefined> {
  for (const name of await readdir(directory)) {
    const writer = parseName(name);
    if (!writer || name === ownName()) continue;
    if (await isAlive(join(directory, name), writer)) return name;
    await rm(join(directory, name), { force: true });
  }
  return undefined;
}

interface Writer {
  readonly host: string;
  readonly machine: string;
  readonly pid: string;
  readonly birth: string;
}

function parseName(name: string): Writer | undefined {
  const match = /^writer\.(.+)\.(\w+)\.(\d+)\.(\d+)\.lock$/.exec(name);
  if (!match) return undefined;
  const [, host, machine, pid, birth] = match as unknown as [
    string,
    string,
    string,
    string,
    string,
  ];
  return { host, machine, pid, birth };
}

async function isAlive(path: string, { machine, pid, birth }: Writer): Promise<boolean> {
  if (machine === MACHINE && process.platform === "linux") return birthOf(pid) === birth;
  try {
    return Date.now() - (await stat(path)).mtimeMs < DEAD_MS;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

/**
 * The start time of a process in ticks since boot; undefined if it does not run. Source: proc(5),
 * `stat`, field 22.
 */
function birthOf(pid: string): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" "); // from field 3, the state
    return fields[0] === "Z" ? undefined : fields[19]; // a zombie has ended
  } catch {
    return undefined;
  }
}

const HOST = hostname().replace(/[^\w.-]/g, "_");
const MACHINE = machineName();

function machineName(): string {
  const parts = [hostname()];
  if (process.platform === "linux")
    parts.push(
      readFileSync("/proc/sys/kernel/random/boot_id", "latin1"),
      readlinkSync("/proc/self/ns/pid"),
    );
  return createHash("sha256").update(parts.join()).digest("hex").slice(0, 8);
}

const ownName = (): string =>
  `writer.${HOST}.${MACHINE}.${process.pid}.${birthOf("self") ?? 0}.lock`;

function taken(directory: string, name: string | undefined): InputError {
  const writer = name === undefined ? undefined : parseName(name);
  return new InputError({
    code: "ERR_REATT_BUSY",
    where: directory,
    expected: "no other writer",
    got: writer
      ? `process ${writer.pid} on ${writer.host}`
      : "one that took over while this process slept",
    remedy: "wait until it has finished, or let this call wait (--wait SECONDS; in code, wait)",
  });
}
