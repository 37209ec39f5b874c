/** CRC-32C (Castagnoli). node:zlib has only CRC-32. Source: RFC 3720, appendix B.4. */

const REVERSED_POLYNOMIAL = 0x82f63b78;

const TABLE: Uint32Array = Uint32Array.from({ length: 256 }, (_, byte) => {
  let remainder = byte;
  for (let bit = 0; bit < 8; bit++)
    remainder = (remainder >>> 1) ^ (remainder & 1 ? REVERSED_POLYNOMIAL : 0);
  return remainder;
});

/** The 32-bit checksum of `data`. */
export function crc32c(data: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of data) crc = (crc >>> 8) ^ TABLE[(crc ^ byte) & 0xff]!;
  return ~crc >>> 0;
}
