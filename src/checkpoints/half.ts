/**
 * Half precision numbers to and from single precision, on their bits.
 *
 * fp16 is IEEE 754 binary16: 1 sign, 5 exponent (bias 15), 10 fraction bits. bf16 is the upper half of a binary32:
 * 1 sign, 8 exponent (bias 127), 7 fraction bits. Every half is a single, so widening is exact, NaN payloads included.
 */

/** Halves that are read or written at once: 4 MB, which stays in the processor's cache. */
export const VALUES_PER_BATCH: number = 2 ** 21;

/** Exact. `from` holds the bits of fp16 numbers; `to` is as long. */
export function widenFloat16(from: Uint16Array, to: Float32Array): void {
  const bits = bitsOf(to);
  for (let i = 0; i < from.length; i++) bits[i] = FLOAT16_TO_FLOAT32[from[i]!]!;
}

/** Exact. `from` holds the bits of bf16 numbers; `to` is as long. */
export function widenBfloat16(from: Uint16Array, to: Float32Array): void {
  const bits = bitsOf(to);
  for (let i = 0; i < from.length; i++) bits[i] = from[i]! << 16;
}

/** To the nearest fp16, ties to even; beyond 65,519 in size to infinity. */
export function narrowFloat16(from: Float32Array, to: Uint16Array): void {
  const bits = bitsOf(from);
  for (let i = 0; i < bits.length; i++) to[i] = roundToFloat16(bits[i]!);
}

/** To the nearest bf16, ties to even. */
export function narrowBfloat16(from: Float32Array, to: Uint16Array): void {
  const bits = bitsOf(from);
  for (let i = 0; i < bits.length; i++) to[i] = roundToBfloat16(bits[i]!);
}

const FLOAT16_TO_FLOAT32: Uint32Array = Uint32Array.from({ length: 65_536 }, (_, half) =>
  widen(half),
);

function bitsOf(numbers: Float32Array): Uint32Array {
  return new Uint32Array(numbers.buffer, numbers.byteOffset, numbers.length);
}

function widen(half: number): number {
  const sign = (half & 0x8000) << 16;
  const exponent = (half >>> 10) & 0x1f;
  const fraction = half & 0x3ff;
  if (exponent === 0x1f) return sign | 0x7f800000 | (fraction << 13);
  if (exponent > 0) return sign | ((exponent + 112) << 23) | (fraction << 13); // 112 = 127 - 15, the two biases
  if (fraction === 0) return sign;
  const shift = Math.clz32(fraction) - 21; // a subnormal is normal in single precision: bring its first bit to bit 10
  return sign | ((113 - shift) << 23) | (((fraction << shift) & 0x3ff) << 13);
}

function roundToFloat16(bits: number): number {
  const sign = (bits >>> 16) & 0x8000;
  const size = bits & 0x7fffffff;
  if (size > 0x7f800000) return sign | 0x7e00; // NaN
  if (size >= 0x477ff000) return sign | 0x7c00; // 65,520, halfway to the first number that fp16 lacks
  if (size >= 0x38800000) return sign | roundOff(size - 0x38000000, 13); // at least 2 ** -14: normal in fp16
  const shift = 126 - (size >>> 23); // the fraction counts in units of 2 ** -24
  return shift > 24 ? sign : sign | roundOff((size & 0x7fffff) | 0x800000, shift);
}

function roundToBfloat16(bits: number): number {
  if ((bits & 0x7fffffff) > 0x7f800000) return (bits >>> 16) | 0x40; // NaN, which must not round to infinity
  return roundOff(bits, 16);
}

/** `bits / 2 ** shift`, rounded to the nearest whole number, ties to even; a carry runs into the exponent, as it should. */
function roundOff(bits: number, shift: number): number {
  const whole = bits >>> shift;
  const rest = bits & (2 ** shift - 1);
  const half = 2 ** (shift - 1);
  return rest > half || (rest === half && whole % 2 === 1) ? whole + 1 : whole;
}
