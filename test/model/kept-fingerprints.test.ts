import {
  chmod,
  copyFile,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { writeSafetensors } from "../../src/checkpoints/write-safetensors.ts";
import { fingerprint } from "../../src/model/fingerprint.ts";
import { fingerprintOf, forgetFingerprints } from "../../src/model/kept-fingerprints.ts";
import { openStored } from "../../src/model/load-weights.ts";
import { parameterShapes } from "../../src/model/parameter-names.ts";
import { namesToStore } from "../../src/model/weight-names.ts";
import { randomWeights, tinyConfig } from "../support/tiny-model.ts";

const folder = await mkdtemp(join(tmpdir(), "reatt-fingerprints-"));
process.env.XDG_CACHE_HOME = join(folder, "cache");
const list = join(folder, "cache", "reatt", "fingerprints.json");
const model = join(folder, "model");
const weights = join(model, "model.safetensors");
const config = tinyConfig();
await mkdir(model);
await writeSafetensors(
  weights,
  new Map(
    [...randomWeights(config, 1)].map(([name, values]) => [
      namesToStore(config).get(name)!,
      { shape: parameterShapes(config).get(name)!, values },
    ]),
  ),
  { dtype: "F32" },
);
const tokenizer = Buffer.from("spiece");
const integers = { integers: true };

/** As if the files had been there for a minute. */
const now = Date.now;
const later = () => {
  Date.now = () => now() + 60_000;
};
test.before.each(async () => {
  later();
  await forgetFingerprints();
});
test.after(async () => {
  Date.now = now;
  await rm(folder, { recursive: true });
});

/** The fingerprint as it is loaded, the one that the bytes have, and the weights that were read. */
async function load(changes: Partial<typeof config> = {}, bytes: Uint8Array = tokenizer) {
  await using stored = await openStored(model, config);
  const read: string[] = [];
  const parts = (name: string) => {
    read.push(name);
    return stored.parts(name);
  };
  const changed = { ...config, ...changes };
  const loaded = await fingerprintOf(changed, { ...stored, parts }, bytes, integers);
  return { loaded, actual: await fingerprint(changed, stored.parts, bytes, integers), read };
}

/** Changes one byte of the embedding, and neither the size nor the time of the last change. */
async function changeWeights(): Promise<void> {
  const { atime, mtime, size } = await stat(weights);
  await using stored = await openStored(model, config);
  const first = await stored.find("embedding.weight");
  const { position } = first as { position: number };
  await using file = await open(weights, "r+");
  const byte = Buffer.alloc(1);
  await file.read(byte, 0, 1, position);
  await file.write(Buffer.of(byte[0]! ^ 1), 0, 1, position);
  await utimes(weights, atime, mtime);
  assert.is((await stat(weights)).size, size);
}

test("the weights are read once", async () => {
  const first = await load();
  assert.is(first.loaded, first.actual);
  assert.ok(first.read.length > 0);
  const second = await load();
  assert.is(second.loaded, first.actual);
  assert.equal(second.read, []);
});

test("the folder of the model stays as it was, so that one that nobody may write is loaded", async () => {
  const files = await readdir(model);
  const { mtimeMs } = await stat(model);
  await load();
  assert.equal(await readdir(model), files);
  assert.is((await stat(model)).mtimeMs, mtimeMs);
  await chmod(model, 0o555);
  assert.equal((await load()).read, []);
  await chmod(model, 0o755);
});

test("weights that took the place of others are read, also if size and time are the same", async () => {
  const before = await load();
  const { atime, mtime } = await stat(weights);
  await copyFile(weights, `${weights}.new`);
  await utimes(`${weights}.new`, atime, mtime);
  await rename(`${weights}.new`, weights);
  const after = await load();
  assert.ok(after.read.length > 0);
  assert.is(after.loaded, before.loaded);
});

test("a changed weight is noticed, also if size and time of the file are as before", async () => {
  const before = await load();
  await changeWeights();
  const after = await load();
  assert.is(after.loaded, after.actual);
  assert.is.not(after.loaded, before.loaded);
});

test("another configuration or tokenizer has its own", async () => {
  await load();
  for (const { loaded, actual, read } of [
    await load({ eosId: 2 }),
    await load({}, Buffer.from("another")),
  ]) {
    assert.is(loaded, actual);
    assert.ok(read.length > 0);
  }
});

test("of a file that was just written, it is computed each time", async () => {
  await utimes(weights, new Date(), new Date());
  const written = now();
  Date.now = () => written;
  assert.ok((await load()).read.length > 0);
  assert.ok((await load()).read.length > 0);
  later();
  assert.ok((await load()).read.length > 0);
  assert.equal((await load()).read, []);
});

test("a damaged list keeps nothing, and one that cannot be written is no error", async () => {
  const { actual } = await load();
  const written = await readFile(list, "utf8");
  for (const text of ["", "null", "[1]", written.slice(0, -9), written.replace(actual, "0")]) {
    await writeFile(list, text);
    const { loaded, read } = await load();
    assert.is(loaded, actual, text);
    assert.ok(read.length > 0, text);
  }
  await rm(dirname(list), { recursive: true });
  await writeFile(dirname(list), "a file in place of the folder");
  assert.is((await load()).loaded, actual);
  await rm(dirname(list));
  await mkdir(dirname(list));
});

test("forgotten ones are computed again", async () => {
  await load();
  await forgetFingerprints();
  assert.ok((await load()).read.length > 0);
});

test.run();
