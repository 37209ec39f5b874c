import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { openSafetensors } from "../../src/checkpoints/safetensors.ts";
import { writeSafetensors } from "../../src/checkpoints/write-safetensors.ts";
import { refused, temporaryFolder } from "./support.ts";

const file = join(temporaryFolder(), "model.safetensors");
const tensors = new Map([
  ["b", { shape: [2, 2], values: Float32Array.of(1, -0.1, 65_504, 2 ** -30) }],
  ["none", { shape: [0], values: new Float32Array() }],
  ["a", { shape: [], values: new Float32Array([9, Math.PI, 9]).subarray(1, 2) }],
]);

/** All tensors of the file. */
async function readAll(): Promise<Record<string, number[]>> {
  const weights = await openSafetensors(file);
  const values: Record<string, number[]> = {};
  for (const name of weights.tensors.keys()) values[name] = [...(await weights.read(name))];
  await weights[Symbol.asyncDispose]();
  return values;
}

test("F32 is exact; F16 is rounded to the nearest", async () => {
  const tenth = Math.fround(-0.1);
  const pi = Math.fround(Math.PI);
  await writeSafetensors(file, tensors, { dtype: "F32" });
  assert.equal(await readAll(), { b: [1, tenth, 65_504, 2 ** -30], none: [], a: [pi] });
  await writeSafetensors(file, tensors, { dtype: "F16" });
  assert.equal(await readAll(), { b: [1, -0.0999755859375, 65_504, 0], none: [], a: [3.140625] });
});

test("the bytes follow the format", async () => {
  await writeSafetensors(file, tensors, { dtype: "F32" });
  const bytes = readFileSync(file);
  const headerBytes = Number(bytes.readBigUInt64LE());
  assert.is(headerBytes % 8, 0);
  assert.equal(JSON.parse(bytes.toString("utf8", 8, 8 + headerBytes)), {
    __metadata__: { format: "pt" },
    b: { dtype: "F32", shape: [2, 2], data_offsets: [0, 16] },
    none: { dtype: "F32", shape: [0], data_offsets: [16, 16] },
    a: { dtype: "F32", shape: [], data_offsets: [16, 20] },
  });
  assert.is(bytes.length, 8 + headerBytes + 20);
  assert.is(bytes.readFloatLE(8 + headerBytes), 1);
});

test("half precision values are written in batches", async () => {
  const values = Float32Array.from({ length: 2 ** 21 + 5 }, (_, i) => i % 2048);
  await writeSafetensors(file, new Map([["a", { shape: [values.length], values }]]), {
    dtype: "F16",
  });
  const weights = await openSafetensors(file);
  assert.ok(Buffer.from((await weights.read("a")).buffer).equals(Buffer.from(values.buffer)));
  await weights[Symbol.asyncDispose]();
});

test("a value that would become infinite is rejected, and the old file stays", async () => {
  const write = (value: number) =>
    writeSafetensors(file, new Map([["a", { shape: [2], values: Float32Array.of(0, value) }]]), {
      dtype: "F16",
    });
  writeFileSync(file, "old");
  await refused(
    write(-65_520),
    /model\.safetensors: a: expected values below 65520, .* got -65520; save as/,
  );
  assert.is(readFileSync(file, "utf8"), "old");
  assert.equal(readdirSync(dirname(file)), ["model.safetensors"]);
  await write(65_519);
  assert.equal(await readAll(), { a: [0, 65_504] });
  await write(Number.NEGATIVE_INFINITY);
  assert.equal(await readAll(), { a: [0, Number.NEGATIVE_INFINITY] });
});

test("a shape that does not fit the values is a defect of the caller", async () => {
  const wrong = new Map([["a", { shape: [3], values: new Float32Array(2) }]]);
  const error = await writeSafetensors(file, wrong, { dtype: "F32" }).catch((reason) => reason);
  assert.instance(error, RangeError);
});

test.run();
