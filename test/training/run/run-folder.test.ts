/** The folder of a run, beside the model. */

import { basename, dirname, join, resolve } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { runFolder } from "../../../src/training/run/run-folder.ts";

test("the folder of a run is beside the model, whatever way the model is named", () => {
  assert.is(runFolder("mine"), "mine.run");
  assert.is(runFolder(join("models", "mine")), join("models", "mine.run"));
  assert.is(runFolder("mine/"), "mine.run");
  const here = resolve(".");
  assert.is(runFolder("."), join(dirname(here), `${basename(here)}.run`));
  assert.is(runFolder(".."), `${dirname(here)}.run`);
});

test.run();
