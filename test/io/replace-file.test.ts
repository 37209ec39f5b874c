import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { replaceFile } from "../../src/io/replace-file.ts";
import { refused, temporaryFolder } from "../checkpoints/support.ts";

const file = join(temporaryFolder(), "file");

test("a file is created and replaced", async () => {
  for (const text of ["one", "two"]) {
    await replaceFile(file, (handle) => handle.writeFile(text));
    assert.is(readFileSync(file, "utf8"), text);
  }
});

test("the old file stays until the writer has finished, and if it fails", async () => {
  writeFileSync(file, "old");
  const failure = new Error("enough");
  const error = await replaceFile(file, async (handle) => {
    await handle.writeFile("half");
    assert.is(readFileSync(file, "utf8"), "old");
    throw failure;
  }).catch((reason) => reason);
  assert.is(error, failure);
  assert.is(readFileSync(file, "utf8"), "old");
  assert.equal(readdirSync(dirname(file)), ["file"]);
});

test("an error of the system is an InputError that names the file", async () => {
  const write = (path: string) => replaceFile(path, async () => {});
  await refused(
    write(join(file, "inside")),
    /file\/inside: expected to be able to write, got ENOTDIR \(.*\); /,
  );
  await refused(
    write(join(dirname(file), "missing", "file")),
    /got ENOENT \(.*\); choose a place where you may write/,
  );
  const folder = join(dirname(file), "folder");
  mkdirSync(join(folder, "full"), { recursive: true });
  await refused(write(folder), /folder: expected to be able to write, got EISDIR|ENOTEMPTY/);
});

test("a full disk", async () => {
  const full = "/dev/full"; // every write to it fails as on a full disk
  if (!statSync(full, { throwIfNoEntry: false })?.isCharacterDevice()) {
    return console.log("skipped: there is no /dev/full here");
  }
  const writing = replaceFile(file, async () => {
    writeFileSync(full, "x");
  });
  await refused(
    writing,
    /file: expected to be able to write, got ENOSPC \(.*\); free some space on the disk/,
  );
});

test.run();
