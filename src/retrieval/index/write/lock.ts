/**
 * One writer at a time, held by a lock that a crash does not leave behind.
 *
 * A lock is an empty file whose name says who writes: `writer.HOST.MACHINE.PID.BIRTH.lock`. Who wants to write puts its
 * own file there, then looks at the others: if one of them lives it takes its own away and gives up. Since everybody
 * creates before looking, two can never both see themselves alone.
 *
 * Who lives: on this machine, a process that exists and was born when the name says, so a number used again does not
 * count. MACHINE stands for host, boot and process namespace; of another one (a network disk, a container) nothing can
 * be asked, so its writer lives as long as it touches its file, which it does every `BEAT_MS`.
 *
 * On NFS this asks for version 3, where a file is created by one client only (open(2), O_EXCL), for a listing that is read anew after
 * a file was created, as Linux does, and for clocks that agree (`DEAD_MS`). It was not tested there.
 */

import { createHash, randomInt } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { open, readdir, rm, stat, utimes } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { InputError } from "../../../io/errors.ts";
import { isMissing, isSystemError } from "../format/storage.ts";

const BEAT_MS = 10_000;
/** A beat, 60 s for which NFS may show an old time (nfs(5), acregmax), and the rest for clocks that differ and a busy process. */
const DEAD_MS = 120_000;
/** Two that start at the same moment both step back; then they try again. */
const ATTEMPTS = 5;

export interface Lock extends AsyncDisposable {
  /** Throws `InputError` where the lock was lost: the process slept so long that another took over. */
  assertHeld(): Promise<void>;
}

/** Locks `directory`, which exists, for writing. Throws `InputError` where another writer lives. */
export async function lockDirectory(directory: string): Promise<Lock> {
  const path = join(directory, ownName());
  for (let attempt = 1; ; attempt++) {
    const created = await create(path);
    const other = created ? await livingWriter(directory) : ownName();
    if (!other) break;
    if (created) await rm(path, { force: true });
    if (attempt === ATTEMPTS) throw taken(directory, other);
    await sleep(randomInt(20, 200));
  }
  const beat = setInterval(() => {
    const now = new Date();
    utimes(path, now, now).catch(() => {}); // assertHeld says it where it matters
  }, BEAT_MS).unref();
  return {
    async assertHeld() {
      const found = await stat(path).catch((error: unknown) => {
        if (!isMissing(error)) throw error;
      });
      if (!found) throw taken(directory, await livingWriter(directory));
    },
    async [Symbol.asyncDispose]() {
      clearInterval(beat);
      await rm(path, { force: true });
    },
  };
}

async function create(path: string): Promise<boolean> {
  try {
    await (await open(path, "wx")).close();
    return true;
  } catch (error) {
    if (isSystemError(error) && error.code === "EEXIST") return false; // this process writes there already
    throw error;
  }
}

/** The lock of another writer that lives, if there is one. Takes away those of the dead. */
async function livingWriter(directory: string): Promise<string | undefined> {
  for (const name of await readdir(directory)) {
    const writer = parseName(name);
    if (!writer || name === ownName()) continue;
    if (await lives(join(directory, name), writer)) return name;
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

async function lives(path: string, { machine, pid, birth }: Writer): Promise<boolean> {
  if (machine === MACHINE && process.platform === "linux") return birthOf(pid) === birth;
  try {
    return Date.now() - (await stat(path)).mtimeMs < DEAD_MS;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

/** When a process was born, in ticks since boot; undefined where there is none. Source: proc(5), `stat`, field 22. */
function birthOf(pid: string): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" "); // from field 3, the state, on
    return fields[0] === "Z" ? undefined : fields[19]; // a zombie is dead, though its parent has not asked
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
    where: directory,
    expected: "no other writer",
    got: writer
      ? `process ${writer.pid} on ${writer.host}`
      : "one that took over while this process slept",
    remedy: "wait until it has finished",
  });
}
