/** Verification of an index that a writer changes meanwhile. */

import { fork } from "node:child_process";
import { once } from "node:events";
import fsp, { rm } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { readManifest, segmentPath } from "../../../../src/retrieval/index/format/manifest.ts";
import { compactIndex } from "../../../../src/retrieval/index/maintain/compact.ts";
import { deletePassages, verifyIndex } from "../../../../src/retrieval/maintain.ts";
import { LOADER, programBeside } from "../../../support/node-program.ts";
import { build, makePassages, temporary } from "../../support.ts";
import { FIRST_STATE } from "./small-changes.ts";

const WRITER = programBeside("changing-writer", import.meta.url);

test("a generation that a writer replaces during the check is not damaged", async () => {
  await using directory = await temporary();
  await build(directory.path, makePassages(50));
  await deletePassages(["p3"], { directory: directory.path });
  const { open } = fsp;
  let compacted = false;
  const compactFirst: typeof open = async (...given) => {
    if (!compacted) {
      compacted = true;
      await compactIndex(directory.path);
    }
    return open(...given);
  };
  replaceOpen(compactFirst);
  try {
    assert.equal(await verifyIndex(directory.path), []);
  } finally {
    replaceOpen(open);
  }
  assert.ok(compacted);
  assert.is((await readManifest(directory.path)).generation, 3);
});

function replaceOpen(open: typeof fsp.open): void {
  Object.assign(fsp, { open });
  syncBuiltinESMExports();
}

test("an index stays whole while a process changes it", async () => {
  await using directory = await temporary();
  await build(directory.path, FIRST_STATE);
  const writer = fork(WRITER, [directory.path], { execArgv: [...LOADER] });
  const exit = once(writer, "exit");
  const generations = new Set<number>();
  while (generations.size < 40 && writer.exitCode === null) {
    generations.add((await readManifest(directory.path)).generation);
    assert.equal(await verifyIndex(directory.path), []);
  }
  writer.send("stop");
  assert.equal(await exit, [0, null]);
});

test("names a file that is missing, also after a second look", async () => {
  await using directory = await temporary();
  await build(directory.path, makePassages(50));
  const path = join(segmentPath(directory.path, "000001"), "ids.u64");
  await rm(path);
  assert.equal(await verifyIndex(directory.path), [{ path, problem: "ENOENT (no such file)" }]);
});

test.run();
