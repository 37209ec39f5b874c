/** recipes/reatt-mini/average.ts: weights are means of two, the logarithm of the scale too. */

import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { readConfig } from "../../src/model/config.ts";
import { loadWeights } from "../../src/model/load-weights.ts";
import { writeModel } from "../../src/training/run/save-model.ts";
import { assertNear } from "../support/arrays.ts";
import { randomWeights } from "../support/tiny-model.ts";
import { temporaryFolder, writeTinyModel } from "../support/training.ts";

test("the mean of two models is a model folder", async () => {
  await using folder = temporaryFolder();
  const [one, other, out] = ["one", "other", "out"].map((name) => join(folder.path, name)) as [
    string,
    string,
    string,
  ];
  mkdirSync(one);
  const config = await writeTinyModel(one, { retrievalScale: 2 });
  const others = randomWeights(config, "other");
  await writeModel(other, { ...config, retrievalScale: 8 }, (name) => others.get(name)!, {
    original: one,
    dtype: "F32",
  });
  execFileSync(process.execPath, [
    "--import",
    "tsx",
    "recipes/reatt-mini/average.ts",
    one,
    other,
    out,
  ]);
  const averaged = await readConfig(out);
  assert.ok(Math.abs(averaged.retrievalScale - 4) < 1e-12);
  const [first, mean] = [await loadWeights(one, config), await loadWeights(out, averaged)];
  for (const [name, numbers] of others)
    assertNear(
      mean.get(name)!,
      Array.from(numbers, (x, i) => (x + first.get(name)![i]!) / 2),
      1e-6,
    );
});

test.run();
