import { spawn } from "node:child_process";
import { getEventListeners, once } from "node:events";
import { readFileSync } from "node:fs";
import { readdir, rm, utimes, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { lockDirectory } from "../../src/io/lock.ts";
import { rejects, temporary } from "../retrieval/support.ts";

const TAKEN = /expected no other writer/;

test("one writer holds the lock, and releases it", async () => {
  await using directory = await temporary();
  const lock = await lockDirectory(directory.path);
  await lock.assertHeld();
  await lock[Symbol.asyncDispose]();
  assert.equal(await readdir(directory.path), []);
  const again = await lockDirectory(directory.path);
  await again[Symbol.asyncDispose]();
});

test("calls of one process get the lock one after the other", async () => {
  await using directory = await temporary();
  const log: string[] = [];
  const write = async (name: string, path: string): Promise<void> => {
    await using _ = await lockDirectory(path);
    log.push(`${name} begins`);
    await sleep(20);
    log.push(`${name} ends`);
  };
  const { path } = directory;
  await Promise.all([write("a", path), write("b", `${path}/.`), write("c", path)]);
  const order = [0, 2, 4].map((i) => log[i]![0]!); // that in which the system resolves the paths
  assert.equal(order.toSorted(), ["a", "b", "c"]);
  assert.equal(
    log,
    order.flatMap((name) => [`${name} begins`, `${name} ends`]),
  );
});

test("a call that waits can be stopped, and the others go on", async () => {
  await using directory = await temporary();
  const lock = await lockDirectory(directory.path);
  const abort = new AbortController();
  const stopped = lockDirectory(directory.path, { signal: abort.signal });
  const next = lockDirectory(directory.path);
  abort.abort(new Error("stopped"));
  await rejects(stopped, /stopped/);
  await lock[Symbol.asyncDispose]();
  await (await next)[Symbol.asyncDispose]();
  assert.equal(await readdir(directory.path), []);
});

test("names another process, and waits for it as long as it should", async () => {
  await using directory = await temporary();
  const own = await ownLockName(directory.path);
  const other = own.replace(/\.(\w+)\.(\d+)\.(\d+)\.lock$/, ".elsewhere.7.8.lock");
  await writeFile(join(directory.path, other), "");
  await rejects(lockDirectory(directory.path), /got process 7 on .*--wait SECONDS/);
  await rejects(lockDirectory(directory.path, { wait: 0.1 }), /got process 7 on /);
  const waiting = lockDirectory(directory.path, { wait: 60 });
  await sleep(700);
  await rm(join(directory.path, other));
  await using lock = await waiting;
  await lock.assertHeld();
});

test("leaves no listener on a signal that many calls share", async () => {
  await using directory = await temporary();
  const { signal } = new AbortController();
  for (let call = 0; call < 3; call++) {
    await using _ = await lockDirectory(directory.path, { signal });
  }
  assert.is(getEventListeners(signal, "abort").length, 0);
});

test("reports a lost lock", async () => {
  await using directory = await temporary();
  await using lock = await lockDirectory(directory.path);
  const [name] = await readdir(directory.path);
  await rm(join(directory.path, name!));
  await rejects(lock.assertHeld(), TAKEN);
});

test("takes over from a dead process, also if its PID is in use again", async () => {
  await using directory = await temporary();
  const own = await ownLockName(directory.path);
  const dead = own.replace(`.${process.pid}.`, ".4194305."); // above the greatest PID of Linux
  const reborn = own.replace(/\d+\.lock$/, "1.lock");
  for (const name of [dead, reborn]) await writeFile(join(directory.path, name), "");
  await using lock = await lockDirectory(directory.path);
  await lock.assertHeld();
  assert.equal(await readdir(directory.path), [own]);
});

test("takes over from a zombie process", async () => {
  if (process.platform !== "linux") return;
  await using directory = await temporary();
  const own = await ownLockName(directory.path);
  const parent = spawn("sh", ["-c", "sleep 0.2 & echo $!; exec sleep 60"]);
  try {
    const pid = String((await once(parent.stdout, "data"))[0]).trim();
    const statOf = () => readFileSync(`/proc/${pid}/stat`, "latin1").split(") ")[1]!.split(" ");
    const birth = statOf()[19]!;
    while (statOf()[0] !== "Z") await sleep(20);
    const zombie = own.replace(/\d+\.\d+\.lock$/, `${pid}.${birth}.lock`);
    await writeFile(join(directory.path, zombie), "");
    await using lock = await lockDirectory(directory.path);
    await lock.assertHeld();
    assert.equal(await readdir(directory.path), [own]);
  } finally {
    parent.kill();
  }
});

test("trusts the heartbeat of another machine", async () => {
  await using directory = await temporary();
  const path = join(directory.path, `writer.elsewhere.0a0a0a0a.17.42.lock`);
  await writeFile(path, "");
  await rejects(lockDirectory(directory.path), /got process 17 on elsewhere/);
  const longAgo = new Date(Date.now() - 600_000);
  await utimes(path, longAgo, longAgo);
  await using lock = await lockDirectory(directory.path);
  await lock.assertHeld();
});

async function ownLockName(directory: string): Promise<string> {
  await using _ = await lockDirectory(directory);
  const [name] = await readdir(directory);
  assert.ok(name!.startsWith(`writer.${hostname().replace(/[^\w.-]/g, "_")}.`), name);
  return name!;
}

test.run();
