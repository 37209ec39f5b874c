import { closeSync, existsSync, openSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { openSafetensors } from "../../src/checkpoints/safetensors.ts";
import { openTorch } from "../../src/checkpoints/torch.ts";
import { testWithShared } from "../support/shared.ts";
import { acceptedOrRefused, fixtures, refused, temporaryFolder, zipBytes } from "./support.ts";

const file = join(temporaryFolder(), "pytorch_model.bin");
const matrix = [-1, -0.5, 0, 0.5, 1, 1.5];
// As fp16 has them
const tenths = [0, 0.0999755859375, 0.199951171875, 0.300048828125, 0.39990234375];

/** Shape and values of every tensor of dtype F32, F16 or BF16. */
async function readAll(
  path: string,
): Promise<Map<string, { shape: readonly number[]; values: number[] }>> {
  const weights = await openTorch(path);
  try {
    const tensors = new Map();
    for (const [name, { shape, dtype }] of weights.tensors) {
      if (!/^(F32|F16|BF16)$/.test(dtype)) continue;
      tensors.set(name, { shape, values: [...(await weights.read(name))] });
    }
    return tensors;
  } finally {
    await weights[Symbol.asyncDispose]();
  }
}

function readBytes(bytes: Uint8Array): ReturnType<typeof readAll> {
  writeFileSync(file, bytes);
  return readAll(file);
}

test("views, offsets, strides, shared storages, parameters and dtypes of torch.save", async () => {
  const tensors = await readAll(join(fixtures, "views.bin"));
  assert.equal(Object.fromEntries(tensors), {
    matrix: { shape: [2, 3], values: matrix },
    same: { shape: [2, 3], values: matrix },
    transposed: { shape: [3, 2], values: [-1, 0.5, -0.5, 1, 0, 1.5] },
    row: { shape: [3], values: [0.5, 1, 1.5] },
    column: { shape: [2], values: [-0.5, 1] },
    steps: { shape: [4], values: [0, 3, 6, 9] },
    permuted: {
      shape: [4, 2, 3],
      values: [0, 1, 2, 3].flatMap((k) => [0, 12].flatMap((i) => [0, 4, 8].map((j) => i + j + k))),
    },
    middle: { shape: [2, 2], values: [6, 10, 18, 22] },
    scalar: { shape: [], values: [2.5] },
    empty: { shape: [0, 3], values: [] },
    half: { shape: [5], values: tenths },
    "half.column": { shape: [2], values: [tenths[2], 0.5] },
    bfloat16: { shape: [5], values: [0, 0.10009765625, 0.2001953125, 0.30078125, 0.400390625] },
    parameter: { shape: [2, 3], values: matrix.map((number) => 2 * number) },
  });
});

test("other dtypes are listed, and rejected only when they are read", async () => {
  const weights = await openTorch(join(fixtures, "views.bin"));
  const dtypes = ["double", "long", "bool"].map((name) => weights.tensors.get(name)!.dtype);
  assert.equal(dtypes, ["F64", "I64", "BOOL"]);
  await refused(weights.read("double"), /views\.bin: double: expected F32, F16 or BF16, got F64; /);
  await weights[Symbol.asyncDispose]();
});

test("the state dict of a module with attributes is read", async () => {
  const tensors = await readAll(join(fixtures, "module.bin"));
  assert.equal([...tensors.keys()], ["0.weight", "0.bias", "1.weight", "1.bias"]);
  assert.equal(tensors.get("0.weight"), { shape: [2, 3], values: [0, 1, 2, 3, 4, 5] });
});

test("other objects than a state dict of plain tensors are rejected by name", async () => {
  const check = (name: string, message: RegExp) => refused(readAll(join(fixtures, name)), message);
  await check(
    "nested.bin",
    /nested\.bin: expected a state dict .*, got 'state_dict': another dict; save the/,
  );
  await check("expanded.bin", /expected a view inside 1 values/);
  await check(
    "legacy.bin",
    /expected a zip of torch 1\.6 or later, got the older format; convert it .*torch\.save/,
  );
  await check("protocol4.bin", /expected pickle protocol 2, got 4/);
});

test("a file that requests code is rejected, and no code runs", async () => {
  const effect = "/tmp/reatt-test-effect";
  await refused(
    readAll(join(fixtures, "code.bin")),
    /got a request for 'posix\.system'; nothing of it was run/,
  );
  assert.not(existsSync(effect));
});

/** A pickle of one tensor, as torch writes it; tests falsify its parts. */
function tensorPickle({
  storage = "FloatStorage",
  key = "0",
  length = 6,
  offset = 0,
  extra = "",
} = {}): Buffer {
  const string = (text: string) =>
    Buffer.concat([Buffer.from(`X${String.fromCharCode(text.length)}\0\0\0`), Buffer.from(text)]);
  return Buffer.concat([
    Buffer.from("\x80\x02}", "latin1"),
    string("a"),
    Buffer.from("ctorch._utils\n_rebuild_tensor_v2\n(("),
    string("storage"),
    Buffer.from(`ctorch\n${storage}\n`),
    string(key),
    string("cpu"),
    Buffer.from([0x4b, length, 0x74, 0x51]), // BININT1, TUPLE, BINPERSID
    // Offset, (2, 3), (3, 1)
    Buffer.from([0x4b, offset, 0x4b, 2, 0x4b, 3, 0x86, 0x4b, 3, 0x4b, 1, 0x86]),
    Buffer.from(`\x89ccollections\nOrderedDict\n)R${extra}tRs.`, "latin1"),
  ]);
}

const DATA = Buffer.from(Float32Array.from(matrix).buffer);
const archive = (pickle: Uint8Array, others: Record<string, Uint8Array> = {}) =>
  zipBytes({ "m/data.pkl": pickle, "m/data/0": DATA, ...others });

test("a reference that does not fit its storage is rejected", async () => {
  const bytes = archive(tensorPickle());
  assert.equal((await readBytes(bytes)).get("a"), { shape: [2, 3], values: matrix });
  await refused(
    readBytes(archive(tensorPickle({ key: "1" }))),
    /m\/data\/1: expected 24 bytes, got none/,
  );
  await refused(
    readBytes(archive(tensorPickle({ length: 7 }))),
    /m\/data\/0: expected 28 bytes, got 24/,
  );
  await refused(
    readBytes(archive(tensorPickle({ storage: "HalfStorage" }))),
    /m\/data\/0: expected 12 bytes, got 24/,
  );
  await refused(readBytes(archive(tensorPickle({ offset: 1 }))), /expected a view inside 6 values/);
  await refused(
    readBytes(archive(tensorPickle({ storage: "QInt8Storage" }))),
    /a request for 'torch\.QInt8Storage'/,
  );
  await refused(
    readBytes(archive(tensorPickle({ extra: "}" }))),
    /expected the 6 arguments of a plain tensor/,
  );
});

test("the byte order is checked if the file contains it", async () => {
  const pickle = tensorPickle();
  const tensors = await readBytes(archive(pickle, { "m/byteorder": Buffer.from("little") }));
  assert.equal(tensors.get("a")!.values, matrix);
  const big = archive(pickle, { "m/byteorder": Buffer.from("big") });
  await refused(readBytes(big), /expected little-endian values, got 'big'/);
});

test("a byte order of 4 GB is not read into memory", async () => {
  const hole = 0xf0_00_00_00;
  const bytes = archive(tensorPickle(), { "m/byteorder": Buffer.alloc(0) });
  const end = bytes.length - 22;
  const start = bytes.readUInt32LE(end + 16);
  const entry = bytes.lastIndexOf("m/byteorder") - 46; // the last entry of the directory
  const local = bytes.readUInt32LE(entry + 42);
  for (const field of [entry + 20, entry + 24, local + 18, local + 22])
    bytes.writeUInt32LE(hole, field);
  bytes.writeUInt32LE(start + hole, end + 16);
  const descriptor = openSync(file, "w");
  writeSync(descriptor, bytes, 0, start, 0);
  writeSync(descriptor, bytes, start, bytes.length - start, start + hole);
  closeSync(descriptor);
  await refused(readAll(file), /expected little-endian values, got '\\x00/);
});

test("a zip without a pickle and other files are rejected", async () => {
  await refused(readBytes(zipBytes({ "m/data/0": DATA })), /expected an entry data\.pkl, got none/);
  await refused(
    readBytes(Buffer.from("no zip")),
    /expected a whole zip archive, got End of central directory/,
  );
  await refused(readBytes(new Uint8Array()), /expected a whole zip archive/);
});

test("every truncation is rejected", async () => {
  const bytes = readFileSync(join(fixtures, "views.bin"));
  for (let length = 0; length < bytes.length; length += 7) {
    await refused(readBytes(bytes.subarray(0, length)), /expected/);
  }
});

test("with any bytes changed, a file is read or rejected", async () => {
  const originals = ["views.bin", "module.bin"].map((name) => readFileSync(join(fixtures, name)));
  const change = fc.record({ at: fc.nat(), to: fc.nat(255) });
  const property = fc.asyncProperty(
    fc.constantFrom(...originals),
    fc.array(change, { minLength: 1, maxLength: 3 }),
    async (original, changes) => {
      const changed = Buffer.from(original);
      for (const { at, to } of changes) changed[at % changed.length] = to;
      await acceptedOrRefused(readBytes(changed));
    },
  );
  await fc.assert(property, { numRuns: 1_000 });
});

testWithShared("the reference model is the same in both formats", async () => {
  const reference = join(import.meta.dirname, "../../../shared/reference/reatt-v11");
  const torch = await openTorch(join(reference, "pytorch_model.bin"));
  const safetensors = await openSafetensors(join(reference, "model.safetensors"));
  for (const [name, { shape }] of safetensors.tensors) {
    assert.equal(torch.tensors.get(name)!.shape, shape);
    const [a, b] = [await torch.read(name), await safetensors.read(name)];
    assert.ok(Buffer.from(a.buffer).equals(Buffer.from(b.buffer)), name);
  }
  const extra = [...torch.tensors.keys()].filter((name) => !safetensors.tensors.has(name));
  assert.equal(extra, ["encoder.embed_tokens.weight", "decoder.embed_tokens.weight"]);
  await torch[Symbol.asyncDispose]();
  await safetensors[Symbol.asyncDispose]();
});

test.run();
