/** Converts uint64 values below 2^53 without a BigInt for each: a search reads thousands. */
export function integers(data: Uint8Array): Float64Array {
  const words = new Uint32Array(data.buffer, data.byteOffset, data.length / 4);
  const values = new Float64Array(words.length / 2);
  for (let i = 0; i < values.length; i++) values[i] = words[2 * i]! + 2 ** 32 * words[2 * i + 1]!;
  return values;
}
