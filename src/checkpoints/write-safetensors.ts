/** Writer of safetensors; the format is described in safetensors.ts. */

import type { FileHandle } from "node:fs/promises";
import { InputError } from "../io/errors.ts";
import { replaceFile } from "../io/replace-file.ts";
import { narrowBfloat16, narrowFloat16, VALUES_PER_BATCH } from "./half.ts";
import { bytesOf, elementCount } from "./values.ts";

/** What numbers are written as. */
export type FloatType = "F32" | "F16" | "BF16";

export interface TensorToWrite {
  readonly shape: readonly number[];
  /** Row-major. */
  readonly numbers: Float32Array;
}

interface HalfPrecision {
  readonly narrow: typeof narrowFloat16;
  /** The smallest size that rounds to infinity. */
  readonly limit: number;
}

const HALF_PRECISION: Record<"F16" | "BF16", HalfPrecision> = {
  F16: { narrow: narrowFloat16, limit: 65_520 },
  BF16: { narrow: narrowBfloat16, limit: 2 ** 128 - 2 ** 119 },
};

const HEADER_ALIGNMENT = 8; // bytes, so that readers may map the data

/**
 * Writes tensors, by name and in their order, to `path`; what was there is replaced once the new file is whole.
 *
 * F16 and BF16 round to the nearest, ties to even.
 *
 * @throws {InputError} where a finite number has no finite neighbour in `dtype`, or the system refuses to write.
 */
export async function writeSafetensors(
  path: string,
  tensors: ReadonlyMap<string, TensorToWrite>,
  { dtype }: { dtype: FloatType },
): Promise<void> {
  await replaceFile(path, async (file) => {
    await file.writeFile(makeHeader(tensors, dtype));
    for (const [name, { numbers }] of tensors) {
      if (dtype === "F32") await file.writeFile(bytesOf(numbers));
      else await writeHalves(file, `${path}: ${name}`, numbers, dtype);
    }
  });
}

function makeHeader(tensors: ReadonlyMap<string, TensorToWrite>, dtype: FloatType): Buffer {
  const header: Record<string, unknown> = { __metadata__: { format: "pt" } }; // transformers refuses a file without
  let end = 0;
  for (const [name, { shape, numbers }] of tensors) {
    if (elementCount(shape) !== numbers.length)
      throw new RangeError(`${name}: [${shape}] of ${numbers.length} numbers`);
    const begin = end;
    end += numbers.length * (dtype === "F32" ? 4 : 2);
    header[name] = { dtype, shape, data_offsets: [begin, end] };
  }
  const json = Buffer.from(JSON.stringify(header));
  const bytes = Buffer.alloc(Math.ceil(json.length / HEADER_ALIGNMENT) * HEADER_ALIGNMENT, " ");
  json.copy(bytes);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(bytes.length));
  return Buffer.concat([length, bytes]);
}

async function writeHalves(
  file: FileHandle,
  where: string,
  numbers: Float32Array,
  dtype: "F16" | "BF16",
): Promise<void> {
  const { narrow, limit } = HALF_PRECISION[dtype];
  const tooLarge = numbers.find((number) => Math.abs(number) >= limit && Number.isFinite(number));
  if (tooLarge !== undefined) {
    const expected = `numbers below ${limit}, which ${dtype} can hold`;
    throw new InputError({ where, expected, got: `${tooLarge}`, remedy: "save as F32" });
  }
  for (let start = 0; start < numbers.length; start += VALUES_PER_BATCH) {
    const piece = numbers.subarray(start, start + VALUES_PER_BATCH);
    const halves = new Uint16Array(piece.length);
    narrow(piece, halves);
    await file.writeFile(bytesOf(halves));
  }
}
