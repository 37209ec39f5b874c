/**
 * Conversion of half precision to float32 and of float32 to fp16, by bit operations.
 *
 * fp16 is IEEE 754 binary16: 1 sign bit, 5 exponent bits (bias 15), 10 fraction bits. bf16 is the
 * upper half of a binary32: 1 sign bit, 8 exponent bits (bias 127), 7 fraction bits. Float32
 * represents every half exactly, NaN payloads included.
 */

/** Half precision values to convert at a time: 4 MB, which fits the processor's cache. */
export const VALUES_PER_BATCH = 2 ** 21;

/** Converts the bits of fp16 values to float32, exactly. `to` has the length of `from`. */
export function widenFloat16(from: Uint16Array, to: Float32Array): void {
  const bits = bitsOf(to);
  table ??= Uint32Array.from({ length: 65_536 }, (_, half) => widen(half));
  for (let i = 0; i < from.length; i++) bits[i] = table[from[i]!]!;
}

/** Converts the bits of bf16 values to float32, exactly. `to` has the length of `from`. */
export function widenBfloat16(from: Uint16Array, to: Float32Array): void {
  const bits = bitsOf(to);
  for (let i = 0; i < from.length; i++) bits[i] = from[i]! << 16;
}

/** Rounds to the nearest fp16 value, ties to even. Absolute values from 65,520 become infinite. */
export function narrowFloat16(from: Float32Array, to: Uint16Array): void {
  const bits = bitsOf(from);
  for (let i = 0; i < bits.length; i++) to[i] = roundToFloat16(bits[i]!);
}

/** The float32 bits of all fp16 values. Made when it is needed: most programs read no fp16. */
let table: Uint32Array | undefined;

function bitsOf(values: Float32Array): Uint32Array {
  return new Uint32Array(values.buffer, values.byteOffset, values.length);
}

function widen(half: number): number {
  const sign = (half & 0x8000) << 16;
  const exponent = (half >>> 10) & 0x1f;
  const fraction = half & 0x3ff;
  if (exponent === 0x1f) return sign | 0x7f800000 | (fraction << 13);
  // 112 = 127 - 15: the difference of the biases
  if (exponent > 0) return sign | ((exponent + 112) << 23) | (fraction << 13);
  if (fraction === 0) return sign;
  // An fp16 subnormal is a normal float32: move its first bit to bit 10
  const shift = Math.clz32(fraction) - 21;
  return sign | ((113 - shift) << 23) | (((fraction << shift) & 0x3ff) << 13);
}

function roundToFloat16(bits: number): number {
  const sign = (bits >>> 16) & 0x8000;
  const size = bits & 0x7fffffff;
  if (size > 0x7f800000) return sign | 0x7e00; // NaN
  // 65,520: halfway between the largest fp16 value and 65,536
  if (size >= 0x477ff000) return sign | 0x7c00;
  // At least 2 ** -14: a normal fp16 value
  if (size >= 0x38800000) return sign | roundOff(size - 0x38000000, 13);
  const shift = 126 - (size >>> 23); // an fp16 subnormal counts in units of 2 ** -24
  return shift > 24 ? sign : sign | roundOff((size & 0x7fffff) | 0x800000, shift);
}

/**
 * Rounds `bits / 2 ** shift` to the nearest integer, ties to even. A carry correctly increments the
 * exponent.
 */
function roundOff(bits: number, shift: number): number {
  const whole = bits >>> shift;
  const rest = bits & (2 ** shift - 1);
  const half = 2 ** (shift - 1);
  return rest > half || (rest === half && whole % 2 === 1) ? whole + 1 : whole;
}
