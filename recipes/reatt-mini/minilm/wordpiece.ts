/**
 * BERT's uncased WordPiece tokenizer with the place of each token in the text.
 *
 * Source: Devlin et al. 2019; `BasicTokenizer` and `WordpieceTokenizer` of google-research/bert.
 */

export interface PlacedToken {
  readonly id: number;
  /** The characters of the text that the token covers, from `start` to `end` (excluded). */
  readonly start: number;
  readonly end: number;
}

export interface WordPiece {
  readonly clsId: number;
  readonly sepId: number;
  /** Without `[CLS]` and `[SEP]`. */
  encode(text: string): PlacedToken[];
}

/** `vocabulary` is `model.vocab` of a `tokenizer.json`. */
export function createWordPiece(vocabulary: Readonly<Record<string, number>>): WordPiece {
  const unknown = vocabulary["[UNK]"]!;

  /** The longest pieces from the left; [UNK] if there are none. */
  function pieces(word: string): { id: number; length: number }[] {
    const found: { id: number; length: number }[] = [];
    for (let at = 0; at < word.length; ) {
      const lead = at === 0 ? "" : "##";
      let end = word.length;
      while (end > at && vocabulary[lead + word.slice(at, end)] === undefined) end--;
      if (end === at) return [{ id: unknown, length: word.length }];
      found.push({ id: vocabulary[lead + word.slice(at, end)]!, length: end - at });
      at = end;
    }
    return found;
  }

  return {
    clsId: vocabulary["[CLS]"]!,
    sepId: vocabulary["[SEP]"]!,
    encode(text) {
      const tokens: PlacedToken[] = [];
      const plain = plainLetters(text);
      for (const match of plain.matchAll(/[\p{L}\p{N}]+|[^\p{L}\p{N}\s]/gu)) {
        let start = match.index;
        for (const { id, length } of pieces(match[0])) {
          tokens.push({ id, start, end: start + length });
          start += length;
        }
      }
      return tokens;
    },
  };
}

/** Lower case without accents. The length stays: characters that would change it are kept. */
function plainLetters(text: string): string {
  return text.replace(/[^\n -~]|[A-Z]/gu, (character) => {
    const plain = character.toLowerCase().normalize("NFD").replace(/\p{M}/gu, "");
    return plain.length === character.length ? plain : character;
  });
}
