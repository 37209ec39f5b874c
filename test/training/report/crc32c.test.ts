import fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { crc32c } from "../../../src/training/report/crc32c.ts";

test("the examples of RFC 3720, B.4, and the check value of the CRC catalogue", () => {
  const ascending = Uint8Array.from({ length: 32 }, (_, i) => i);
  assert.is(crc32c(new Uint8Array(32)), 0x8a9136aa);
  assert.is(crc32c(new Uint8Array(32).fill(0xff)), 0x62a8ab43);
  assert.is(crc32c(ascending), 0x46dd794e);
  assert.is(crc32c(ascending.toReversed()), 0x113fdb5c);
  assert.is(crc32c(Buffer.from("123456789")), 0xe3069283);
  assert.is(crc32c(new Uint8Array()), 0);
});

/** Polynomial division of the bits with big integers, without table and reflection. */
function naive(data: Uint8Array): number {
  const reversed = (value: bigint, bits: number) =>
    BigInt(`0b${value.toString(2).padStart(bits, "0").split("").reverse().join("")}`);
  let message = 0n;
  for (const byte of data) message = (message << 8n) | reversed(BigInt(byte), 8);
  const bits = 8 * data.length;
  let remainder = (message << 32n) ^ (0xffffffffn << BigInt(bits)); // starts with all ones
  for (let bit = bits - 1; bit >= 0; bit--)
    if ((remainder >> BigInt(bit + 32)) & 1n) remainder ^= 0x11edc6f41n << BigInt(bit);
  return Number(reversed(remainder ^ 0xffffffffn, 32));
}

test("equals division of polynomials", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (data) => {
      assert.is(crc32c(data), naive(data));
    }),
  );
});

test.run();
