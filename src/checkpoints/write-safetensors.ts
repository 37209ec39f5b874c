/** Writes safetensors files. See safetensors.ts for the format. */

import type { FileHandle } from "node:fs/promises";
import { InputError } from "../io/errors.ts";
import { replaceFile } from "../io/replace-file.ts";
import { narrowFloat16, VALUES_PER_BATCH } from "./half.ts";
import { bytesOf, elementCount } from "./values.ts";

/** The dtype of a written file. */
export type FloatType = "F32" | "F16";

export interface TensorToWrite {
  readonly shape: readonly number[];
  /** Row-major. */
  readonly values: Float32Array;
}

const FLOAT16_LIMIT = 65_520; // the smallest value that rounds to infinity
const HEADER_ALIGNMENT = 8; // bytes; aligned data can be memory-mapped

/**
 * Writes tensors by name, in the order of the map, and replaces `path` atomically.
 *
 * F16 rounds to the nearest value, ties to even.
 *
 * @throws {InputError} if a finite value would become infinite in F16, or if the file cannot be
 * written.
 */
export async function writeSafetensors(
  path: string,
  tensors: ReadonlyMap<string, TensorToWrite>,
  { dtype }: { dtype: FloatType },
): Promise<void> {
  await replaceFile(path, async (file) => {
    await file.writeFile(makeHeader(tensors, dtype));
    for (const [name, { values }] of tensors) {
      if (dtype === "F32") await file.writeFile(bytesOf(values));
      else await writeFloat16(file, `${path}: ${name}`, values);
    }
  });
}

function makeHeader(tensors: ReadonlyMap<string, TensorToWrite>, dtype: FloatType): Buffer {
  // Transformers rejects a file without it
  const header: Record<string, unknown> = { __metadata__: { format: "pt" } };
  let end = 0;
  for (const [name, { shape, values }] of tensors) {
    if (elementCount(shape) !== values.length)
      throw new RangeError(`${name}: shape [${shape}] with ${values.length} values`);
    const begin = end;
    end += values.length * (dtype === "F32" ? 4 : 2);
    header[name] = { dtype, shape, data_offsets: [begin, end] };
  }
  const json = Buffer.from(JSON.stringify(header));
  const bytes = Buffer.alloc(Math.ceil(json.length / HEADER_ALIGNMENT) * HEADER_ALIGNMENT, " ");
  json.copy(bytes);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(bytes.length));
  return Buffer.concat([length, bytes]);
}

async function writeFloat16(file: FileHandle, where: string, values: Float32Array): Promise<void> {
  const tooLarge = values.find(
    (value) => Math.abs(value) >= FLOAT16_LIMIT && Number.isFinite(value),
  );
  if (tooLarge !== undefined) {
    const expected = `values below ${FLOAT16_LIMIT}, the range of F16`;
    throw new InputError({ where, expected, got: `${tooLarge}`, remedy: "save as F32" });
  }
  for (let start = 0; start < values.length; start += VALUES_PER_BATCH) {
    const batch = values.subarray(start, start + VALUES_PER_BATCH);
    const halves = new Uint16Array(batch.length);
    narrowFloat16(batch, halves);
    await file.writeFile(bytesOf(halves));
  }
}
