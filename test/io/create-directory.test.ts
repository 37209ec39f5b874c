import { chmodSync, existsSync, mkdirSync, rmdirSync, writeFileSync } from "node:fs";
import fsp from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import {
  createDirectory,
  createOutputDirectory,
  createTemporaryDirectory,
  syncName,
} from "../../src/io/create-directory.ts";
import { refused, temporaryFolder } from "../checkpoints/support.ts";

const folder = temporaryFolder();

const codeOf = (promise: Promise<void>): Promise<string> =>
  promise.then(
    () => "created",
    (error: NodeJS.ErrnoException) => error.code!,
  );

test("creates missing parents, and does nothing for a directory that exists", async () => {
  const path = join(folder, "a", "b", "c");
  await createDirectory(path);
  assert.ok(existsSync(path));
  await createDirectory(path);
});

test("a file in the path is an error", async () => {
  writeFileSync(join(folder, "file"), "");
  assert.is(await codeOf(createDirectory(join(folder, "file"))), "EEXIST");
  assert.is(await codeOf(createDirectory(join(folder, "file", "inside"))), "ENOTDIR");
});

test("a read-only disk is reported as one, and not as ENOENT", async () => {
  const { mkdir } = fsp;
  const readOnly = Object.assign(new Error("EROFS"), { code: "EROFS", syscall: "mkdir" });
  // as Node on Linux: the recursive mkdir reports the stat that it runs after the error
  const missing = Object.assign(new Error("ENOENT"), { code: "ENOENT", syscall: "mkdir" });
  const stub = async (_: unknown, options?: { recursive?: boolean }) => {
    throw options?.recursive ? missing : readOnly;
  };
  Object.assign(fsp, { mkdir: stub });
  syncBuiltinESMExports();
  try {
    assert.is(await codeOf(createDirectory(join(folder, "new"))), "EROFS");
    await createDirectory(folder); // it exists
  } finally {
    Object.assign(fsp, { mkdir });
    syncBuiltinESMExports();
  }
});

test("a parent that may not be read is no error", async () => {
  const parent = join(folder, "unreadable");
  mkdirSync(join(parent, "child"), { recursive: true });
  chmodSync(parent, 0o300);
  await syncName(join(parent, "child"));
  chmodSync(parent, 0o700);
});

test("for folders of results, an error is one line with a remedy", async () => {
  writeFileSync(join(folder, "text"), "");
  await refused(
    createOutputDirectory(join(folder, "text", "run")),
    /text\/run: expected to be able to write, got ENOTDIR \(.*\); choose a place where you may/,
  );
  const path = await createTemporaryDirectory("test");
  assert.match(path, /reatt-test-\w+$/);
  rmdirSync(path);
  const { TMPDIR } = process.env;
  process.env.TMPDIR = join(folder, "missing");
  try {
    await refused(
      createTemporaryDirectory("test"),
      /missing: expected to be able to write, got ENO/,
    );
  } finally {
    if (TMPDIR === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = TMPDIR;
  }
});

test.run();
