/** Finds weights that are not numbers, before a model computes with them. */

import { InputError } from "../io/errors.ts";
import type { InputFiles } from "../io/input-file.ts";
import { bytesOf, elementCount } from "./values.ts";
import type { StoredValues } from "./weight-file.ts";

const PART_BYTES = 2 ** 20; // a cache of the processor holds it

/** The bits of the exponent: all of them are set in infinity and NaN, and in no other value. */
const EXPONENTS: Readonly<Record<string, number>> = { F32: 0x7f800000, F16: 0x7c00, BF16: 0x7f80 };

/**
 * Checks the values of a tensor: an array, or the place of values that are read once. Scales of
 * integers are checked where they are read.
 *
 * @param file the file of an array, for the error
 * @param files opens that of a place
 * @throws {InputError} if a value is infinite or NaN
 */
export async function checkFinite(
  name: string,
  values: Float32Array | StoredValues,
  file: string,
  files: InputFiles,
): Promise<void> {
  if (values instanceof Float32Array) {
    const at = firstNotFiniteOf(values);
    if (at >= 0) throw notFinite(file, name, at);
    return;
  }
  const exponent = EXPONENTS[values.dtype];
  if (exponent === undefined) return;
  const valueBytes = values.dtype === "F32" ? 4 : 2;
  const size = elementCount(values.shape) * valueBytes;
  const buffer = new Uint8Array(Math.min(PART_BYTES, size));
  const source = await files.open(values.file);
  for (let start = 0; start < size; start += PART_BYTES) {
    const part = buffer.subarray(0, Math.min(PART_BYTES, size - start));
    await source.readInto(part, values.position + start);
    const at = firstNotFinite(bitsOf(part, valueBytes), exponent);
    if (at >= 0) throw notFinite(values.file, name, start / valueBytes + at);
  }
}

/** The position of the first value that is infinite or NaN, or -1. */
export const firstNotFiniteOf = (values: Float32Array): number =>
  firstNotFinite(bitsOf(bytesOf(values), 4), EXPONENTS.F32!);

const bitsOf = (
  { buffer, byteOffset, byteLength }: Uint8Array,
  valueBytes: number,
): Uint32Array | Uint16Array =>
  valueBytes === 4
    ? new Uint32Array(buffer, byteOffset, byteLength / 4)
    : new Uint16Array(buffer, byteOffset, byteLength / 2);

function firstNotFinite(bits: Uint32Array | Uint16Array, exponent: number): number {
  for (let i = 0; i < bits.length; i++) if ((bits[i]! & exponent) === exponent) return i;
  return -1;
}

const notFinite = (file: string, name: string, at: number): InputError =>
  new InputError({
    where: `${file}: ${name}`,
    expected: "finite values",
    got: `infinity or NaN as value ${at}`,
    remedy: "the file is damaged, or its training has failed: use another one",
  });
