import { copyFileSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { openWeights } from "../../src/checkpoints/open.ts";
import { fixtures, refused, temporaryFolder, writeTensors } from "./support.ts";

const parent = temporaryFolder();
let folders = 0;

/** An empty folder. */
function newFolder(): string {
  const folder = join(parent, `${folders++}`);
  mkdirSync(folder);
  return folder;
}

function writeShards(folder: string, weightMap: unknown): void {
  writeTensors(join(folder, "one.safetensors"), { a: { shape: [2], values: [1, 2] } });
  writeTensors(join(folder, "two.safetensors"), {
    b: { shape: [1], values: [3] },
    unused: { shape: [0], values: [] },
  });
  writeFileSync(
    join(folder, "model.safetensors.index.json"),
    JSON.stringify({ metadata: {}, weight_map: weightMap }),
  );
}

/** Open files can be counted only on Linux. */
const openFiles = () => (existsSync("/proc/self/fd") ? readdirSync("/proc/self/fd").length : 0);

test("files have the priority safetensors, its shards, torch, its shards", async () => {
  const folder = newFolder();
  const found = async () => {
    const weights = await openWeights(folder);
    await weights[Symbol.asyncDispose]();
    return weights.path.slice(folder.length + 1);
  };
  await refused(
    found(),
    /expected a folder with one of model\.safetensors, .* got no folder, or an empty one/,
  );
  writeFileSync(join(folder, "config.json"), "{}");
  await refused(found(), /got none of them; give the folder of a Hugging Face model/);
  copyFileSync(join(fixtures, "views.bin"), join(folder, "shard.bin"));
  writeFileSync(
    join(folder, "pytorch_model.bin.index.json"),
    '{"weight_map":{"matrix":"shard.bin"}}',
  );
  assert.is(await found(), "pytorch_model.bin.index.json");
  copyFileSync(join(fixtures, "views.bin"), join(folder, "pytorch_model.bin"));
  assert.is(await found(), "pytorch_model.bin");
  writeShards(folder, { a: "one.safetensors" });
  assert.is(await found(), "model.safetensors.index.json");
  writeTensors(join(folder, "model.safetensors"), { a: { shape: [1], values: [0] } });
  assert.is(await found(), "model.safetensors");
});

test("shards are read as one file, and all of them are closed", async () => {
  const folder = newFolder();
  writeShards(folder, { a: "one.safetensors", b: "two.safetensors" });
  const before = openFiles();
  const weights = await openWeights(folder);
  assert.equal([...weights.tensors.keys()], ["a", "b"]);
  assert.is(weights.tensors.get("b")!.file, join(folder, "two.safetensors"));
  assert.equal([...(await weights.read("a")), ...(await weights.read("b"))], [1, 2, 3]);
  await refused(weights.read("unused"), /index\.json: expected a tensor unused, got none/);
  await weights[Symbol.asyncDispose]();
  assert.ok(openFiles() <= before);
});

test("a wrong shard index is rejected, and no file stays open", async () => {
  const before = openFiles();
  const check = async (weightMap: unknown, message: RegExp) => {
    const folder = newFolder();
    writeShards(folder, weightMap);
    await refused(openWeights(folder), message);
  };
  await check(
    { a: "one.safetensors", b: "one.safetensors" },
    /one\.safetensors: expected a tensor b, got none/,
  );
  await check(
    { a: "one.safetensors", b: "three.safetensors" },
    /three\.safetensors: expected a file .* ENOENT/,
  );
  await check({ a: "../one.safetensors" }, /index\.json: expected an object weight_map/);
  await check({ a: "one\0.safetensors" }, /index\.json: expected an object weight_map/);
  await check(["one.safetensors"], /index\.json: expected an object weight_map/);
  await check(undefined, /index\.json: expected an object weight_map/);
  const folder = newFolder();
  writeFileSync(join(folder, "model.safetensors.index.json"), "{\n");
  await refused(openWeights(folder), /index\.json: expected an object weight_map/);
  assert.ok(openFiles() <= before);
});

test.run();
