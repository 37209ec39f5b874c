import { test } from "uvu";
import * as assert from "uvu/assert";
import {
  narrowBfloat16,
  narrowFloat16,
  widenBfloat16,
  widenFloat16,
} from "../../src/checkpoints/half.ts";

/** The value of a half by the definition of IEEE 754, in doubles. */
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
  { name: "fp16", exponentBits: 5, fractionBits: 10, widen: widenFloat16, narrow: narrowFloat16 },
  { name: "bf16", exponentBits: 8, fractionBits: 7, widen: widenBfloat16, narrow: narrowBfloat16 },
];
const ALL = Uint16Array.from({ length: 65_536 }, (_, bits) => bits);

for (const { name, exponentBits, fractionBits, widen, narrow } of FORMATS) {
  const values = Float64Array.from(ALL, (bits) => numberOf(bits, exponentBits, fractionBits));
  const wide = new Float32Array(65_536);
  widen(ALL, wide);

  test(`${name}: every number widens to its value`, () => {
    for (const bits of ALL) assert.ok(Object.is(wide[bits], values[bits]), `${bits}`);
  });

  test(`${name}: narrowing a widened number gives it back; NaN stays NaN with its sign`, () => {
    const back = new Uint16Array(65_536);
    narrow(wide, back);
    for (const bits of ALL) {
      if (Number.isNaN(values[bits])) {
        assert.ok(Number.isNaN(numberOf(back[bits]!, exponentBits, fractionBits)), `${bits}`);
        assert.is(back[bits]! >> 15, bits >> 15);
      } else assert.is(back[bits], bits);
    }
  });

  test(`${name}: rounds to the nearest, ties to even`, () => {
    const infinity = (2 ** exponentBits - 1) * 2 ** fractionBits;
    for (const sign of [0, 0x8000]) {
      for (let bits = 0; bits < infinity; bits++) {
        const low = Math.abs(values[bits]!);
        const high = bits + 1 === infinity ? 2 ** (2 ** (exponentBits - 1)) : values[bits + 1]!; // as if it went on
        const middle = Float32Array.of((low + high) / 2); // exact: singles have more than one bit more
        const even = bits % 2 === 0 ? bits : bits + 1;
        assert.equal(rounded(middle, sign), sign + even, `halfway above ${bits}`);
        assert.equal(
          rounded(beside(middle, -1), sign),
          sign + bits,
          `just below halfway above ${bits}`,
        );
        assert.equal(
          rounded(beside(middle, 1), sign),
          sign + bits + 1,
          `just above halfway above ${bits}`,
        );
      }
    }
  });

  function rounded(size: Float32Array, sign: number): number {
    const to = new Uint16Array(1);
    narrow(
      size.map((number) => (sign === 0 ? number : -number)),
      to,
    );
    return to[0]!;
  }
}

test("a NaN whose payload is only in the low bits does not become infinity", () => {
  const nan = new Float32Array(Uint32Array.of(0x7f800001).buffer);
  const halves = new Uint16Array(2);
  narrowFloat16(nan, halves.subarray(0, 1));
  narrowBfloat16(nan, halves.subarray(1));
  assert.ok((halves[0]! & 0x3ff) !== 0 && (halves[1]! & 0x7f) !== 0);
});

test("numbers that are subnormal in single precision", () => {
  const tiny = Float32Array.of(2 ** -149, -(2 ** -130));
  const halves = new Uint16Array(2);
  narrowFloat16(tiny, halves);
  assert.equal([...halves], [0, 0x8000]);
  narrowBfloat16(tiny, halves);
  assert.equal([...halves], [0, 0x8000 + 2 ** 3]); // 2 ** -130 is 8 times the smallest bf16, 2 ** -133
});

/** The next single up or down. */
function beside(number: Float32Array, step: number): Float32Array {
  const bits = new Uint32Array(number.slice().buffer);
  return new Float32Array(bits.map((value) => value + step).buffer);
}

test.run();
