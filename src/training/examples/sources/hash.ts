/** Hashes of texts and of sequences of them, with 52 bits. */

/** FNV-1a over UTF-16 code units, twice, with 26 bits each. */
export function hashOf(text: string): number {
  let low = 0x811c9dc5;
  let high = 0x01000193;
  for (let i = 0; i < text.length; i++) {
    low = Math.imul(low ^ text.charCodeAt(i), 0x01000193);
    high = Math.imul(high ^ text.charCodeAt(i), 0x5bd1e995);
    high ^= high >>> 15;
  }
  return joined(low, high);
}

/** The hash of a sequence from that of its beginning and that of its next member. */
export function extended(hash: number, next: number): number {
  const low = (hash % 2 ** 26) ^ (next % 2 ** 26);
  const high = Math.floor(hash / 2 ** 26) ^ Math.floor(next / 2 ** 26);
  return joined(Math.imul(low + 0x9e3779b9, 0x85ebca6b), Math.imul(high + 0x9e3779b9, 0xc2b2ae35));
}

/** Mixes the bits, so that every part of the range is as likely (finaliser of MurmurHash3). */
function joined(low: number, high: number): number {
  const mixed = mix(low ^ Math.imul(high, 0x9e3779b1));
  return (mix(high ^ mixed) >>> 6) * 2 ** 26 + (mixed >>> 6);
}

function mix(value: number): number {
  let bits = value ^ (value >>> 16);
  bits = Math.imul(bits, 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return bits ^ (bits >>> 16);
}
