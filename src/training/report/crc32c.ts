/** CRC-32C, the Castagnoli polynomial, which node:zlib does not have. Source: RFC 3720, appendix B.4. */

const REVERSED_POLYNOMIAL = 0x82f63b78;

const TABLE: Uint32Array = Uint32Array.from({ length: 256 }, (_, byte) => {
  let remainder = byte;
  for (let bit = 0; bit < 8; bit++)
    remainder = (remainder >>> 1) ^ (remainder & 1 ? REVERSED_POLYNOMIAL : 0);
  return remainder;
});

/** The checksum of `data`, 32 bits. */
export function crc32c(data: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of data) crc = (crc >>> 8) ^ TABLE[(crc ^ byte) & 0xff]!;
  return ~crc >>> 0;
}
