import { readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { openSafetensors } from "../../src/checkpoints/safetensors.ts";
import type { WeightFile } from "../../src/checkpoints/weight-file.ts";
import { testWithShared } from "../support/shared.ts";
import { acceptedOrRefused, refused, safetensorsBytes, temporaryFolder } from "./support.ts";

const file = join(temporaryFolder(), "model.safetensors");

const HEADER = {
  __metadata__: { format: "pt" },
  a: { dtype: "F32", shape: [2, 2], data_offsets: [0, 16] },
  b: { dtype: "F16", shape: [3], data_offsets: [16, 22] },
  c: { dtype: "BF16", shape: [], data_offsets: [22, 24] },
  d: { dtype: "I64", shape: [0, 5], data_offsets: [24, 24] },
};
const DATA = Buffer.concat([
  Buffer.from(Float32Array.of(1, -2.5, 3e38, 0).buffer),
  Buffer.from(Uint16Array.of(0x3c00, 0xc000, 0x0001).buffer),
  Buffer.from(Uint16Array.of(0x4049).buffer),
]);

async function open(bytes: Uint8Array): Promise<WeightFile> {
  writeFileSync(file, bytes);
  return openSafetensors(file);
}

/** All readable tensors of a file. */
async function readAll(bytes: Uint8Array): Promise<Map<string, number[]>> {
  const weights = await open(bytes);
  try {
    const values = new Map<string, number[]>();
    for (const name of weights.tensors.keys()) values.set(name, [...(await weights.read(name))]);
    return values;
  } finally {
    await weights[Symbol.asyncDispose]();
  }
}

test("lists tensors and reads fp32, fp16 and bf16", async () => {
  const weights = await open(safetensorsBytes(HEADER, DATA));
  assert.equal([...weights.tensors.keys()], ["a", "b", "c", "d"]);
  const { name, dtype, shape } = weights.tensors.get("a")!;
  assert.equal({ name, dtype, shape }, { name: "a", dtype: "F32", shape: [2, 2] });
  assert.equal([...(await weights.read("a"))], [1, -2.5, Math.fround(3e38), 0]);
  assert.equal([...(await weights.read("b"))], [1, -2, 2 ** -24]);
  assert.equal([...(await weights.read("c"))], [3.140625]);
  await refused(weights.read("d"), /model\.safetensors: d: expected F32, F16 or BF16, got I64; /);
  await refused(weights.read("e"), /expected a tensor e, got none/);
  await weights[Symbol.asyncDispose]();
  await weights[Symbol.asyncDispose]();
});

test("padding after the header and any order of entries are accepted", async () => {
  const { a, ...others } = HEADER;
  const json = `${JSON.stringify({ ...others, a })}     `;
  const weights = await open(safetensorsBytes(json, DATA));
  assert.equal([...(await weights.read("a"))], [1, -2.5, Math.fround(3e38), 0]);
  await weights[Symbol.asyncDispose]();
});

test("half precision values are read in batches", async () => {
  const count = 2 ** 21 + 3;
  const halves = Uint16Array.from({ length: count }, (_, i) => i % 0x7c00);
  const header = { a: { dtype: "F16", shape: [count], data_offsets: [0, 2 * count] } };
  const weights = await open(safetensorsBytes(header, Buffer.from(halves.buffer)));
  const values = await weights.read("a");
  await weights[Symbol.asyncDispose]();
  for (const i of [0, 1, 2 ** 21 - 1, 2 ** 21, count - 1]) {
    const exponent = (i % 0x7c00) >> 10;
    const fraction = ((i % 0x7c00) % 1024) / 1024;
    assert.is(
      values[i],
      exponent === 0 ? fraction * 2 ** -14 : (1 + fraction) * 2 ** (exponent - 15),
    );
  }
});

test("an inconsistent header is rejected, and the error names the tensor", async () => {
  const { a, b, c, d } = HEADER;
  const check = (header: unknown, message: RegExp, data: Uint8Array = DATA) =>
    refused(readAll(safetensorsBytes(header, data)), message);
  await check({ ...HEADER, a: { ...a, dtype: "F7" } }, /safetensors: a: expected a dtype of F64, /);
  await check({ ...HEADER, a: { ...a, shape: [2, -2] } }, /: a: expected a shape of whole numbers/);
  await check(
    { ...HEADER, a: { ...a, shape: [2, 1.5] } },
    /: a: expected a shape of whole numbers/,
  );
  await check({ ...HEADER, a: { ...a, shape: "4" } }, /: a: expected a shape of whole numbers/);
  await check(
    { ...HEADER, a: { ...a, shape: [2, 3] } },
    /: a: expected data_offsets 24 bytes apart/,
  );
  await check(
    { ...HEADER, a: { ...a, data_offsets: [0] } },
    /: a: expected data_offsets 16 bytes apart/,
  );
  await check(
    { ...HEADER, a: { ...a, data_offsets: [16, 0] } },
    /: a: expected data_offsets 16 bytes apart/,
  );
  await check({ ...HEADER, a: { ...a, shape: [2 ** 40, 2 ** 40] } }, /: a: expected data_offsets/);
  await check({ ...HEADER, a: null }, /: a: expected a dtype/);
  await check({ ...HEADER, a: [] }, /: a: expected a dtype/);
  await check({ b, c, d }, /: b: expected data that begin at 0, got data at 16/);
  await check({ ...HEADER, e: a }, /: e: expected data that begin at 16, got data at 0/);
  await check(HEADER, /expected 24 bytes of data, got 23/, DATA.subarray(1));
  await check(HEADER, /expected 24 bytes of data, got 25/, Buffer.concat([DATA, Buffer.alloc(1)]));
  await check([], /expected a header that is a JSON object, got \[\]/);
  await check("null", /expected a header that is a JSON object, got null/);
  await check("{", /expected a header of JSON/);
  await check("\n{\n", /expected a header of JSON/);
});

test("a repeated name is rejected, in any JSON spelling", async () => {
  const entry = '{"dtype":"F32","shape":[4],"data_offsets":[0,16]}';
  const other = '{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}';
  const data = DATA.subarray(0, 16);
  const twice = (key: string) =>
    readAll(safetensorsBytes(`{"a\\"b":${entry},${key}:${other}}`, data));
  await refused(twice('"a\\"b"'), /expected one entry a tensor, got two for a"b/);
  await refused(twice('"\\u0061\\"b"'), /expected one entry a tensor, got two for a"b/);
});

test("a header longer than the file or the limit is rejected before it is read", async () => {
  const bytes = safetensorsBytes(HEADER, DATA);
  bytes.writeBigUInt64LE(2n ** 63n);
  await refused(
    readAll(bytes),
    /expected a header of at most \d+ bytes, got a length of 9223372036854776000/,
  );
  writeFileSync(file, bytes);
  truncateSync(file, 2 ** 30); // sparse
  await refused(openSafetensors(file), /expected a header of at most 5000000 bytes/);
});

test("a missing file and a directory are rejected", async () => {
  await refused(
    openSafetensors(`${file}.missing`),
    /model\.safetensors\.missing: expected a file .*ENOENT/,
  );
  await refused(openSafetensors(join(file, "..")), /expected a file that can be read/);
});

test("a file above 4 GiB is read by position", async () => {
  const begin = 5 * 2 ** 30;
  const header = {
    a: { dtype: "F32", shape: [5, 2 ** 28], data_offsets: [0, begin] },
    b: { dtype: "F32", shape: [2], data_offsets: [begin, begin + 8] },
  };
  const bytes = safetensorsBytes(header, new Uint8Array());
  writeFileSync(file, bytes);
  try {
    truncateSync(file, bytes.length + begin); // sparse: takes no room
    writeFileSync(file, Buffer.from(Float32Array.of(7, -8).buffer), { flag: "a" });
  } catch (error) {
    console.log(`skipped: no sparse file of 5 GiB can be made here (${(error as Error).message})`);
    return;
  }
  const weights = await openSafetensors(file);
  assert.equal([...(await weights.read("b"))], [7, -8]);
  await refused(weights.read("a"), /: a: expected at most 1073741824 values, got 1342177280/);
  await weights[Symbol.asyncDispose]();
  writeFileSync(file, "");
});

test("every truncation is rejected", async () => {
  const bytes = safetensorsBytes(HEADER, DATA);
  for (let length = 0; length < bytes.length; length++) {
    await refused(readAll(bytes.subarray(0, length)), /expected/);
  }
});

test("with any bytes changed, the values are those in the file", async () => {
  const { d: _, ...header } = HEADER;
  const bytes = safetensorsBytes(header, DATA);
  const dataStart = bytes.length - DATA.length;
  const change = fc.record({ at: fc.nat(bytes.length - 1), to: fc.nat(255) });
  const property = fc.asyncProperty(
    fc.array(change, { minLength: 1, maxLength: 4 }),
    async (changes) => {
      const changed = Buffer.from(bytes);
      for (const { at, to } of changes) changed[at] = to;
      const values = await acceptedOrRefused(readAll(changed));
      if (changes.some(({ at }) => at < dataStart) || values === undefined) return;
      const singles = [0, 4, 8, 12].map((at) => changed.readFloatLE(dataStart + at));
      assert.equal(values.get("a"), singles);
    },
  );
  await fc.assert(property, { numRuns: 1_000 });
});

test("any header is read or rejected", async () => {
  const property = fc.asyncProperty(
    fc.json(),
    fc.uint8Array({ maxLength: 40 }),
    async (json, data) => {
      await acceptedOrRefused(readAll(safetensorsBytes(json, data)));
    },
  );
  await fc.assert(property, { numRuns: 500 });
});

testWithShared("the reference models are read whole", async () => {
  const reference = join(
    import.meta.dirname,
    "../../../shared/reference/reatt-v11/model.safetensors",
  );
  const weights = await openSafetensors(reference);
  const { shape } = weights.tensors.get("shared.weight")!;
  assert.equal(shape, [32_128, 48]);
  const bytes = readFileSync(reference);
  const header = JSON.parse(bytes.toString("utf8", 8, 8 + Number(bytes.readBigUInt64LE())));
  for (const [
    name,
    {
      data_offsets: [begin, end],
    },
  ] of Object.entries<{ data_offsets: number[] }>(header)) {
    const start = 8 + Number(bytes.readBigUInt64LE()) + begin!;
    const values = await weights.read(name);
    assert.ok(
      Buffer.from(values.buffer).equals(bytes.subarray(start, start + end! - begin!)),
      name,
    );
  }
  await weights[Symbol.asyncDispose]();
});

test.run();
