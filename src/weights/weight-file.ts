/** What every checkpoint format offers: a list of tensors without their data, and one tensor's numbers at a time. */

import { inspect } from "node:util";
import { InputError } from "../errors.ts";
import { widenBfloat16, widenFloat16 } from "./half.ts";
import type { InputFile } from "./input-file.ts";

/** What a checkpoint says of a tensor before its data are read. */
export interface TensorInfo {
  readonly name: string;
  /** In the words of safetensors: `F32`, `F16`, `BF16`, `I64`, ... */
  readonly dtype: string;
  readonly shape: readonly number[];
  /** The path of the file that holds it: one shard of a sharded checkpoint. */
  readonly file: string;
}

/** An open checkpoint: one file, or all shards of one. Closing it twice does no harm. */
export interface WeightFile extends AsyncDisposable {
  /** The path of the file, or of the index of the shards. */
  readonly path: string;
  readonly tensors: ReadonlyMap<string, TensorInfo>;
  /**
   * The numbers of one tensor in row-major order; fp16 and bf16 are widened exactly.
   *
   * @throws {InputError} where the tensor is missing, holds other than F32, F16 or BF16, or cannot be read.
   */
  read(name: string): Promise<Float32Array>;
}

/** Bytes of one number, by dtype. */
export const DTYPE_BYTES: ReadonlyMap<string, number> = new Map([
  ["F64", 8],
  ["F32", 4],
  ["F16", 2],
  ["BF16", 2],
  ["F8_E4M3", 1],
  ["F8_E5M2", 1],
  ["I64", 8],
  ["I32", 4],
  ["I16", 2],
  ["I8", 1],
  ["U64", 8],
  ["U32", 4],
  ["U16", 2],
  ["U8", 1],
  ["BOOL", 1],
]);

/** Half precision numbers that are read before they are widened: 4 MB, which stays in the processor's cache. */
const HALVES_AT_ONCE = 2 ** 21;

const WIDEN: ReadonlyMap<string, typeof widenFloat16> = new Map([
  ["F16", widenFloat16],
  ["BF16", widenBfloat16],
]);

/** Reads `count` numbers that stand at byte `position`, as single precision. The host is little-endian, as the files are. */
export async function readNumbers(
  file: InputFile,
  tensor: TensorInfo,
  position: number,
  count: number,
): Promise<Float32Array> {
  const widen = WIDEN.get(tensor.dtype);
  if (widen === undefined && tensor.dtype !== "F32") throw unreadableDtype(tensor);
  const numbers = new Float32Array(count);
  if (widen === undefined) {
    await file.readInto(new Uint8Array(numbers.buffer), position);
    return numbers;
  }
  const scratch = new Uint16Array(Math.min(count, HALVES_AT_ONCE));
  for (let start = 0; start < count; start += HALVES_AT_ONCE) {
    const halves = scratch.subarray(0, Math.min(HALVES_AT_ONCE, count - start));
    await file.readInto(new Uint8Array(halves.buffer, 0, halves.byteLength), position + 2 * start);
    widen(halves, numbers.subarray(start, start + halves.length));
  }
  return numbers;
}

/** The tensor called `name`, or an error that names it and the file. */
export function findTensor<Tensor>(tensors: ReadonlyMap<string, Tensor>, name: string, file: string): Tensor {
  const tensor = tensors.get(name);
  if (tensor !== undefined) return tensor;
  const remedy = "use a checkpoint of this model";
  throw new InputError({ where: file, expected: `a tensor ${name}`, got: "none of that name", remedy });
}

/** How many numbers a tensor of this shape has. */
export function elementCount(shape: readonly number[]): number {
  return shape.reduce((count, size) => count * size, 1);
}

/** Whether a value that came from a file can be a size or an offset. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** A value that came from a file, short and in one line, for an error. */
export function excerpt(value: unknown): string {
  const inOneLine = { compact: true, breakLength: Number.POSITIVE_INFINITY };
  return inspect(value, { ...inOneLine, depth: 2, maxArrayLength: 8, maxStringLength: 80 }).slice(0, 200);
}

function unreadableDtype({ file, name, dtype }: TensorInfo): InputError {
  return new InputError({
    where: `${file}: ${name}`,
    expected: "F32, F16 or BF16",
    got: dtype,
    remedy: "save the model in one of these",
  });
}
