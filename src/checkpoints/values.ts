/** Reads stored tensor values as float32. */

import { InputError } from "../io/errors.ts";
import type { InputFile } from "../io/input-file.ts";
import { VALUES_PER_BATCH, widenBfloat16, widenFloat16 } from "./half.ts";
import type { StoredValues, TensorInfo } from "./weight-file.ts";

/** Bytes of one value, by dtype (names of safetensors). */
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

/**
 * 4 GiB of float32, the longest typed array in Node 20. The largest tensor of T5-11B has 2 ** 26
 * values.
 */
const MAX_COUNT = 2 ** 30;

const WIDEN: ReadonlyMap<string, typeof widenFloat16> = new Map([
  ["F16", widenFloat16],
  ["BF16", widenBfloat16],
]);

/**
 * Reads `count` values of `tensor` from byte `position` on. Both formats and all supported hosts
 * are little-endian.
 */
export async function readValues(
  file: InputFile,
  tensor: TensorInfo,
  position: number,
  count: number,
): Promise<Float32Array> {
  checkFloats(tensor);
  checkCount(tensor, count);
  const widen = WIDEN.get(tensor.dtype);
  const values = new Float32Array(count);
  if (widen === undefined) {
    await file.readInto(bytesOf(values), position);
    return values;
  }
  const scratch = new Uint16Array(Math.min(count, VALUES_PER_BATCH));
  for (let start = 0; start < count; start += VALUES_PER_BATCH) {
    const halves = scratch.subarray(0, Math.min(VALUES_PER_BATCH, count - start));
    await file.readInto(bytesOf(halves), position + 2 * start);
    widen(halves, values.subarray(start, start + halves.length));
  }
  return values;
}

/**
 * The place of values that are row-major and without gaps, if they are aligned.
 *
 * @throws {InputError} if they are not floating point
 */
export function locateValues(tensor: TensorInfo, position: number): StoredValues | undefined {
  checkFloats(tensor);
  const { file, dtype, shape } = tensor;
  return position % DTYPE_BYTES.get(dtype)! === 0 ? { file, position, dtype, shape } : undefined;
}

function checkFloats(tensor: TensorInfo): void {
  if (tensor.dtype === "F32" || WIDEN.has(tensor.dtype)) return;
  throw unreadable(tensor, "F32, F16 or BF16", tensor.dtype);
}

/** @throws {InputError} if a float32 array cannot hold `count` values */
export function checkCount(tensor: TensorInfo, count: number): void {
  if (count > MAX_COUNT) throw unreadable(tensor, `at most ${MAX_COUNT} values`, `${count}`);
}

/** Number of values of a tensor of this shape. */
export function elementCount(shape: readonly number[]): number {
  return shape.reduce((count, size) => count * size, 1);
}

/** Whether a value read from a file is a valid size or offset. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** A view of the memory of a typed array, not a copy. */
export function bytesOf(values: Float32Array | Uint16Array | Int8Array): Buffer {
  return Buffer.from(values.buffer, values.byteOffset, values.byteLength);
}

function unreadable({ file, name }: TensorInfo, expected: string, got: string): InputError {
  return new InputError({
    where: `${file}: ${name}`,
    expected,
    got,
    remedy: "use the fp32, fp16 or bf16 weights of a T5",
  });
}
