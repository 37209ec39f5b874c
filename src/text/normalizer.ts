/**
 * SentencePiece's text normaliser (T5: NFKC, controls removed, white space collapsed), done again so that every character of
 * the result knows where it came from; sentencepiece-js encodes but tells no offsets.
 *
 * Source: Kudo and Richardson 2018, 3.2 (normalisation as a precompiled finite-state map) and `normalizer.cc` of SentencePiece;
 * the trie is that of https://github.com/s-yata/darts-clone.
 */

/** Text after normalisation. Unit i of `text` stands for the characters [starts[i], ends[i]) of the original. */
export interface NormalizedText {
  readonly text: string;
  readonly starts: readonly number[];
  readonly ends: readonly number[];
}

/** Finds the longest rule that applies at a byte of UTF-8 text. */
type RuleFinder = (
  utf8: Uint8Array,
  at: number,
) => { bytes: number; replacement: string } | undefined;

const SPACE_SYMBOL = "▁"; // U+2581, how pieces write a space

/** The normaliser whose rules are `charsmap` (of a SentencePiece model, see `sentencepiece-model.ts`). */
export function createNormalizer(charsmap: Uint8Array): (text: string) => NormalizedText {
  const findRule = createRuleFinder(charsmap);

  return (original) => {
    const utf8 = new TextEncoder().encode(original);
    const units: string[] = [];
    const starts: number[] = [];
    const ends: number[] = [];
    let offset = 0;
    for (let at = 0; at < utf8.length; ) {
      const rule = findRule(utf8, at);
      const bytes = rule?.bytes ?? sequenceLength(utf8[at]!);
      const end = offset + countUnits(utf8.subarray(at, at + bytes));
      const replacement = rule?.replacement ?? original.slice(offset, end);
      const afterSpace = units.length === 0 || units.at(-1) === SPACE_SYMBOL;
      const visible = afterSpace ? replacement.replace(/^ +/, "") : replacement;
      if (units.length === 0 && visible !== "") push(SPACE_SYMBOL, offset, offset);
      for (const unit of visible.split("")) push(unit === " " ? SPACE_SYMBOL : unit, offset, end);
      at += bytes;
      offset = end;
    }
    const text = units.join("").replace(/▁+$/, "");
    return { text, starts, ends };

    function push(unit: string, start: number, end: number): void {
      units.push(unit);
      starts.push(start);
      ends.push(end);
    }
  };
}

/**
 * The map is the trie's size in bytes (uint32), the trie, and the replacements, each ended by a zero byte. A trie unit of 32 bits
 * holds a label (bits 0-7), whether a value follows (bit 8) and the offset of its children; a value is where its replacement begins.
 */
function createRuleFinder(charsmap: Uint8Array): RuleFinder {
  if (charsmap.length === 0) return () => undefined;
  const view = new DataView(charsmap.buffer, charsmap.byteOffset, charsmap.byteLength);
  const trieBytes = view.getUint32(0, true);
  const replacements = charsmap.subarray(4 + trieBytes);
  const trieUnit = (index: number) => view.getUint32(4 + index * 4, true);
  const children = (unit: number) => (unit >>> 10) << ((unit & 0x200) >>> 6);
  const hasValue = (unit: number) => (unit & 0x100) !== 0;

  return (utf8, start) => {
    let found: { bytes: number; value: number } | undefined;
    let node = children(trieUnit(0));
    for (let at = start; at < utf8.length; at++) {
      node ^= utf8[at]!;
      const unit = trieUnit(node);
      if ((unit & 0x800000ff) >>> 0 !== utf8[at]) break;
      node ^= children(unit);
      if (hasValue(unit)) found = { bytes: at + 1 - start, value: trieUnit(node) & 0x7fffffff };
    }
    if (found === undefined) return undefined;
    const end = replacements.indexOf(0, found.value);
    return {
      bytes: found.bytes,
      replacement: Buffer.from(replacements.subarray(found.value, end)).toString("utf8"),
    };
  };
}

/** Bytes of the UTF-8 sequence that begins with this byte. */
function sequenceLength(lead: number): number {
  if (lead < 0x80) return 1;
  if (lead < 0xe0) return 2;
  return lead < 0xf0 ? 3 : 4;
}

/** UTF-16 units of whole UTF-8 sequences: one for each, two for those of four bytes. */
function countUnits(utf8: Uint8Array): number {
  let units = 0;
  for (const byte of utf8) if ((byte & 0xc0) !== 0x80) units += byte >= 0xf0 ? 2 : 1;
  return units;
}
