/** Weights that are not finite, and weights that a session cannot map. */

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { checkFinite } from "../../src/checkpoints/finite.ts";
import { openSafetensors } from "../../src/checkpoints/safetensors.ts";
import { writeSafetensors } from "../../src/checkpoints/write-safetensors.ts";
import { InputError } from "../../src/io/errors.ts";
import { InputFiles } from "../../src/io/input-file.ts";
import { convertModel } from "../../src/model/convert.ts";
import { ReAtt } from "../../src/reatt.ts";
import { writeTinyModel } from "../support/training.ts";

const folder = mkdtempSync(join(tmpdir(), "reatt-weights-"));
test.after(() => rmSync(folder, { recursive: true }));

const PASSAGES = [{ id: "1", title: "Rhine", text: "The Rhine flows to the North Sea." }];

/** The header of a safetensors file, and where its data begin. */
function headerOf(file: string): { bytes: Buffer; header: string; dataStart: number } {
  const bytes = readFileSync(file);
  const dataStart = 8 + Number(bytes.readBigUInt64LE());
  return { bytes, dataStart, header: bytes.toString("utf8", 8, dataStart) };
}

async function refusal(path: string): Promise<string> {
  try {
    await (await ReAtt.load(path)).close();
    return "loaded";
  } catch (error) {
    assert.instance(error, InputError);
    return (error as InputError).message;
  }
}

test("a weight with NaN or infinity is found at load, and the error names file and tensor", async () => {
  const path = join(folder, "model");
  mkdirSync(path);
  await writeTinyModel(path);
  const file = join(path, "model.safetensors");
  assert.is(await refusal(path), "loaded");
  const { bytes, header, dataStart } = headerOf(file);
  const entries = Object.entries(JSON.parse(header)) as [
    string,
    { data_offsets: [number, number] },
  ][];
  for (const [i, value] of [Number.NaN, Infinity, -Infinity].entries()) {
    const [name, { data_offsets }] = entries
      .filter(([name]) => name.endsWith("weight"))
      .at(-1 - i)!;
    const damaged = Buffer.from(bytes);
    damaged.writeFloatLE(value, dataStart + data_offsets[1] - 4);
    writeFileSync(file, damaged);
    const message = await refusal(path);
    assert.ok(message.startsWith(`${file}: ${name}: expected finite values`), message);
  }
});

test("each type of values, at any place", async () => {
  for (const dtype of ["F32", "F16"] as const) {
    const file = join(folder, `${dtype}.safetensors`);
    const values = new Float32Array(700_000).fill(-1);
    values[699_999] = Infinity;
    await writeSafetensors(file, new Map([["w", { shape: [700_000], values }]]), { dtype });
    await using weights = await openSafetensors(file);
    const place = (await weights.locate("w"))!;
    await using files = new InputFiles();
    const error = await checkFinite("w", place, file, files).catch((given: unknown) => given);
    assert.match((error as Error).message, /safetensors: w: .* value 699999;/);
    const array = await checkFinite("w", values, file, files).catch((given: unknown) => given);
    assert.match((array as Error).message, /safetensors: w: .* value 699999;/);
  }
});

test("an int8 model whose data begin at an odd offset gives the same answers", async () => {
  const source = join(folder, "float");
  mkdirSync(source);
  await writeTinyModel(source);
  const path = join(folder, "int8");
  await convertModel(source, { out: path, precision: "int8" });
  const answer = async () => {
    await using model = await ReAtt.load(path);
    return model.read("Where does the Rhine flow?", PASSAGES, { maxAnswerTokens: 4 });
  };
  const { tokenIds } = await answer();
  const file = join(path, "model.safetensors");
  const { bytes, header, dataStart } = headerOf(file);
  for (const spaces of [1, 2, 3]) {
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(dataStart - 8 + spaces));
    const padded = Buffer.from(header + " ".repeat(spaces));
    writeFileSync(file, Buffer.concat([length, padded, bytes.subarray(dataStart)]));
    assert.equal((await answer()).tokenIds, tokenIds, `${spaces}`);
  }
});

test.run();
