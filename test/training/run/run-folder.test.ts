/** The folder of a run, beside the model. */

import { mkdir, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { checkFree, runFolder } from "../../../src/training/run/run-folder.ts";
import { temporary } from "../../retrieval/support.ts";

test("the folder of a run is beside the model, whatever way the model is named", () => {
  assert.is(runFolder("mine"), "mine.run");
  assert.is(runFolder(join("models", "mine")), join("models", "mine.run"));
  assert.is(runFolder("mine/"), "mine.run");
  const here = resolve(".");
  assert.is(runFolder("."), join(dirname(here), `${basename(here)}.run`));
  assert.is(runFolder(".."), `${dirname(here)}.run`);
});

test("a model is written to an empty folder or to that of its run, and not among files", async () => {
  await using folder = await temporary();
  const out = join(folder.path, "mine");
  await checkFree(out); // absent
  await mkdir(out);
  await checkFree(out);
  for (const name of ["README.md", "model.safetensors"]) {
    await writeFile(join(out, name), "mine");
    const error = String(await checkFree(out).catch(String));
    assert.match(
      error,
      /mine: expected a new or empty folder, got one with README\.md; name another/,
    );
  }
  await mkdir(runFolder(out));
  await checkFree(out);
});

test.run();
