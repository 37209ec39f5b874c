/** Search for a sequence of tokens in linear time (Knuth, Morris and Pratt 1977). */

/** Yields each position at which `needle` begins in `haystack`. An empty needle is nowhere. */
export function* findSequence(
  haystack: readonly string[],
  needle: readonly string[],
): Generator<number, void> {
  if (needle.length === 0) return;
  // borders[i]: length of the longest shorter prefix of the needle that ends at token i
  const borders = [0];
  const extend = (matched: number, token: string): number => {
    let length = matched;
    while (length > 0 && needle[length] !== token) length = borders[length - 1]!;
    return needle[length] === token ? length + 1 : length;
  };
  for (let i = 1; i < needle.length; i++) borders.push(extend(borders[i - 1]!, needle[i]!));
  let matched = 0;
  for (let i = 0; i < haystack.length; i++) {
    matched = extend(matched, haystack[i]!);
    if (matched === needle.length) yield i + 1 - needle.length;
  }
}
