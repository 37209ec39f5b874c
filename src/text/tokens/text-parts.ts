/**
 * Prepares long texts for SentencePiece, which joins a run of unknown characters in time quadratic
 * in its length and needs about 130 bytes of memory for each character.
 */

/**
 * Characters of a part, if it has spaces. No ordinary passage is as long. In later parts, the sums
 * of scores have other rounding errors than in the whole text, which decide between equal scores.
 */
export const PART_LENGTH = 2 ** 16;
/** The longest part: one word of a million characters. */
const MAX_PART_LENGTH = 2 ** 20;
/**
 * A space before a letter or a digit. The pieces of T5 have a space only at their start, so the
 * tokens on both sides are independent of each other.
 */
const BOUNDARY = / (?=[\p{L}\p{N}])/u;

/**
 * Splits a text at spaces into parts of about {@link PART_LENGTH} characters. A word of more
 * than a million characters is split as well.
 */
export function* textParts(text: string): Generator<string, void> {
  for (let start = 0; start < text.length; ) {
    const end = boundaryAfter(text, start + PART_LENGTH, start + MAX_PART_LENGTH);
    yield text.slice(start, end);
    start = end;
  }
}

/**
 * The beginning of a text with at least `length` characters that ends at a space. Its tokens
 * are the first tokens of the text.
 */
export function beginningOf(text: string, length: number): string {
  return text.slice(0, boundaryAfter(text, length, text.length));
}

function boundaryAfter(text: string, from: number, to: number): number {
  if (from >= text.length) return text.length;
  const window = text.slice(from, to);
  const found = window.search(BOUNDARY);
  if (found !== -1) return from + found;
  const end = Math.min(to, text.length);
  const isInsidePair = /^[\udc00-\udfff]/.test(text.slice(end, end + 1));
  return isInsidePair ? end + 1 : end;
}

const LONG_WORD = /\S{65,}/gu;
const KEPT = 32; // characters at each end of a run; more than the normaliser looks at together

/**
 * Shortens runs of unknown characters, which make one token regardless of their length.
 * `isUnknown` says whether a character adds no token beside an unknown character.
 */
export function shortenUnknownRuns(
  text: string,
  isUnknown: (character: string) => boolean,
): string {
  return text.replace(LONG_WORD, (word) => {
    const kept: string[] = [];
    let run: string[] = [];
    const endRun = () => {
      const isLong = run.length > 2 * KEPT;
      kept.push(isLong ? [...run.slice(0, KEPT), ...run.slice(-KEPT)].join("") : run.join(""));
      run = [];
    };
    for (const character of word) {
      if (isUnknown(character)) run.push(character);
      else {
        if (run.length > 0) endRun();
        kept.push(character);
      }
    }
    endRun();
    return kept.join("");
  });
}
