/** Files that are dropped while they are open. */

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readlinkSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { chunksOf, openFile, readOpened } from "../../src/io/open-file.ts";

setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");
const folder = await mkdtemp(join(tmpdir(), "reatt-open-file-"));
test.after(() => rm(folder, { recursive: true }));
const warnings: Error[] = [];
process.on("warning", (warning) => warnings.push(warning));

const path = join(folder, "file");
await writeFile(path, Buffer.alloc(1_000_000, "a"));

/** The descriptors of this process that lead to the file. */
const openDescriptors = (): number =>
  readdirSync("/proc/self/fd").filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`) === path;
    } catch {
      return false; // that of the folder itself
    }
  }).length;

async function collectAll(): Promise<void> {
  for (let i = 0; i < 10; i++) {
    collect();
    await setImmediate();
  }
}

const onLinux = process.platform === "linux" ? test : test.skip;

onLinux("an open file that nobody uses any more is closed, without a warning", async () => {
  for (let i = 0; i < 20; i++) await openFile(path);
  await collectAll();
  assert.is(openDescriptors(), 0);
  assert.equal(warnings, []);
});

onLinux("a read that is running ends before its file is closed", async () => {
  const reads = await Promise.all(
    Array.from({ length: 20 }, async () => {
      const bytes = Buffer.alloc(1_000_000);
      return { bytes, running: (await openFile(path)).read(bytes, 0, bytes.length, 0) };
    }),
  );
  await collectAll();
  for (const { bytes, running } of reads) {
    assert.is((await running).bytesRead, bytes.length);
    assert.ok(bytes.every((byte) => byte === 97));
  }
});

onLinux("chunks keep their file open until they are dropped", async () => {
  const size = async (): Promise<number> => {
    const chunks = chunksOf(await openFile(path));
    let bytes = 0;
    for await (const chunk of chunks) {
      collect();
      await setImmediate();
      bytes += chunk.length;
    }
    return bytes;
  };
  assert.is(await size(), 1_000_000);
  await chunksOf(await openFile(path), 0).next();
  await collectAll();
  assert.is(openDescriptors(), 0);
  assert.equal(warnings, []);
});

onLinux("a file that is closed twice, or closed and then dropped", async () => {
  const file = await openFile(path);
  await file.close();
  await file.close();
  for (let i = 0; i < 5; i++) await (await openFile(path)).close();
  await collectAll();
  assert.is(openDescriptors(), 0);
  assert.equal(warnings, []);
});

test("a pipe that nobody writes is empty, and one with a slow writer is read to its end", async () => {
  const pipe = join(folder, "pipe");
  execFileSync("mkfifo", [pipe]);
  assert.is((await readOpened(pipe)).length, 0);
  const writer = spawn("sh", ["-c", `sleep 0.3; (echo a; sleep 0.3; echo b) > ${pipe}`]);
  const end = once(writer, "exit");
  assert.is((await readOpened(pipe)).toString(), "a\nb\n");
  await end;
});

test.run();
