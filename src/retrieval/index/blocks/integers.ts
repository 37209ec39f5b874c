/** uint64 values below 2^53, without a BigInt for each: a search reads thousands. */

/** The words of `data`, from which `integerAt` reads. */
export const wordsOf = (data: Uint8Array): Uint32Array =>
  new Uint32Array(data.buffer, data.byteOffset, data.length / 4);

/** Value i of `words`. */
export const integerAt = (words: Uint32Array, i: number): number =>
  words[2 * i]! + 2 ** 32 * words[2 * i + 1]!;

/** All values of `data`. */
export function integers(data: Uint8Array): Float64Array {
  const words = wordsOf(data);
  const values = new Float64Array(words.length / 2);
  for (let i = 0; i < values.length; i++) values[i] = integerAt(words, i);
  return values;
}
