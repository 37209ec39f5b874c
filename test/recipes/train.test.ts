/** The scripts of recipes/reatt-mini: what they say if data or the start model is missing. */

import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { temporaryFolder } from "../support/training.ts";

const run = (script: string, ...args: string[]) =>
  spawnSync(`recipes/reatt-mini/${script}`, args, { encoding: "utf8" });

test("stop with one line if data is missing", async () => {
  await using folder = temporaryFolder();
  for (const script of ["train", "pretrain", "second-generation"]) {
    const { status, stdout, stderr } = run(script, join(folder.path, "out"), folder.path);
    assert.is(status, 1);
    assert.is(stdout, "");
    assert.match(
      stderr,
      /^\S+\/wiki\/articles\.jsonl\.gz is missing: recipes\/reatt-mini\/README\.md .*\n$/,
    );
  }
});

test("stop with one line if the start model is missing", async () => {
  await using folder = temporaryFolder();
  const files = ["wiki/articles.jsonl.gz", ...["corpus", "train", "dev"].map(squadFile)];
  for (const name of files) {
    mkdirSync(join(folder.path, name, ".."), { recursive: true });
    writeFileSync(join(folder.path, name), "");
  }
  const start = join(folder.path, "start");
  const { status, stderr } = run("train", join(folder.path, "out"), folder.path, start);
  assert.is(status, 1);
  assert.match(stderr, /^\S+\/start\/config\.json is missing: .*\n$/);
});

const squadFile = (name: string): string => `squad/${name}.jsonl`;

test.run();
