/** Folders that a call fills, and what a kill leaves of it. */

import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { beginFolder, checkEmptyFolder, endFolder } from "../../src/io/unfinished-folder.ts";
import { convertModel } from "../../src/model/convert.ts";
import { storeInConfig } from "../../src/model/store-config.ts";
import { temporary } from "../retrieval/support.ts";
import { writeTinyModel } from "../support/training.ts";

const message = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "",
    (error: Error) => error.message,
  );

test("a folder is absent, empty or unfinished, and never one with files of others", async () => {
  await using folder = await temporary();
  const out = join(folder.path, "out");
  await checkEmptyFolder(out);
  await mkdir(out);
  await writeFile(join(out, "unfinished.reatt.new"), ""); // killed while the mark was written
  await beginFolder(out);
  await writeFile(join(out, "model.safetensors"), "a part");
  await beginFolder(out); // the call is repeated
  await endFolder(out);
  assert.equal(await readdir(out), ["model.safetensors"]);
  assert.match(await message(beginFolder(out)), /expected a new or empty folder, got one with mod/);
});

test("models are not written among files of others, and a killed call can be repeated", async () => {
  await using folder = await temporary();
  const [model, out] = [join(folder.path, "model"), join(folder.path, "out")];
  await mkdir(model);
  await writeTinyModel(model);
  const calls = [
    () => convertModel(model, { out, precision: "fp16" }),
    () => storeInConfig(model, {}, out),
  ];
  for (const call of calls) {
    await mkdir(out);
    await writeFile(join(out, "model.safetensors"), "weights of the user");
    assert.match(await message(call()), /expected a new or empty folder, got one with model/);
    await writeFile(join(out, "unfinished.reatt"), "");
    await call();
    assert.equal((await readdir(out)).sort(), [
      ...["config.json", "model.safetensors", "spiece.model"],
    ]);
    await rm(out, { recursive: true });
  }
});

test.run();
