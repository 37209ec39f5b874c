/** recipes/reatt-mini/train: what it says if data is missing. */

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { temporaryFolder } from "../support/training.ts";

test("stops with one line if data is missing", async () => {
  await using folder = temporaryFolder();
  const { status, stdout, stderr } = spawnSync(
    "recipes/reatt-mini/train",
    [join(folder.path, "out"), folder.path],
    { encoding: "utf8" },
  );
  assert.is(status, 1);
  assert.is(stdout, "");
  assert.match(
    stderr,
    /^\S+\/wiki\/articles\.jsonl\.gz is missing: recipes\/reatt-mini\/README\.md .*\n$/,
  );
});

test.run();
