import { test } from "uvu";
import * as assert from "uvu/assert";
import { narrowFloat16, widenBfloat16, widenFloat16 } from "../../src/checkpoints/half.ts";

/** The value of a half by the definition of IEEE 754, in float64. */
function numberOf(bits: number, exponentBits: number, fractionBits: number): number {
  const sign = bits >> 15 === 1 ? -1 : 1;
  const exponent = (bits >> fractionBits) % 2 ** exponentBits;
  const fraction = (bits % 2 ** fractionBits) / 2 ** fractionBits;
  const bias = 2 ** (exponentBits - 1) - 1;
  if (exponent === 2 ** exponentBits - 1)
    return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  if (exponent === 0) return sign * fraction * 2 ** (1 - bias);
  return sign * (1 + fraction) * 2 ** (exponent - bias);
}

const FORMATS = [
  { name: "fp16", exponentBits: 5, fractionBits: 10, widen: widenFloat16 },
  { name: "bf16", exponentBits: 8, fractionBits: 7, widen: widenBfloat16 },
];
const ALL = Uint16Array.from({ length: 65_536 }, (_, bits) => bits);

for (const { name, exponentBits, fractionBits, widen } of FORMATS) {
  test(`${name}: every value widens exactly`, () => {
    const wide = new Float32Array(65_536);
    widen(ALL, wide);
    for (const bits of ALL)
      assert.ok(Object.is(wide[bits], numberOf(bits, exponentBits, fractionBits)), `${bits}`);
  });
}

const fp16 = Float64Array.from(ALL, (bits) => numberOf(bits, 5, 10));

test("fp16: narrowing a widened value gives it back; NaN stays NaN with its sign", () => {
  const wide = new Float32Array(65_536);
  const back = new Uint16Array(65_536);
  widenFloat16(ALL, wide);
  narrowFloat16(wide, back);
  for (const bits of ALL) {
    if (Number.isNaN(fp16[bits])) {
      assert.ok(Number.isNaN(numberOf(back[bits]!, 5, 10)), `${bits}`);
      assert.is(back[bits]! >> 15, bits >> 15);
    } else assert.is(back[bits], bits);
  }
});

test("fp16: rounds to the nearest, ties to even", () => {
  const infinity = 0x7c00;
  for (const sign of [0, 0x8000]) {
    for (let bits = 0; bits < infinity; bits++) {
      const low = Math.abs(fp16[bits]!);
      const high = bits + 1 === infinity ? 65_536 : fp16[bits + 1]!;
      const middle = Float32Array.of((low + high) / 2); // exact in float32
      const even = bits % 2 === 0 ? bits : bits + 1;
      assert.is(rounded(middle, sign), sign + even, `halfway above ${bits}`);
      assert.is(rounded(beside(middle, -1), sign), sign + bits, `just below halfway above ${bits}`);
      assert.is(
        rounded(beside(middle, 1), sign),
        sign + bits + 1,
        `just above halfway above ${bits}`,
      );
    }
  }
});

function rounded(size: Float32Array, sign: number): number {
  const to = new Uint16Array(1);
  narrowFloat16(
    size.map((value) => (sign === 0 ? value : -value)),
    to,
  );
  return to[0]!;
}

test("fp16: a NaN whose payload is only in the low bits does not become infinity", () => {
  const half = new Uint16Array(1);
  narrowFloat16(new Float32Array(Uint32Array.of(0x7f800001).buffer), half);
  assert.ok((half[0]! & 0x3ff) !== 0);
});

test("fp16: float32 subnormals become zero", () => {
  const halves = new Uint16Array(2);
  narrowFloat16(Float32Array.of(2 ** -149, -(2 ** -130)), halves);
  assert.equal([...halves], [0, 0x8000]);
});

/** The next float32 value up or down. */
function beside(number: Float32Array, step: number): Float32Array {
  const bits = new Uint32Array(number.slice().buffer);
  return new Float32Array(bits.map((value) => value + step).buffer);
}

test.run();
