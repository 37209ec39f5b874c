/**
 * The cells and fields of a text, as documents are read (src/documents): rows of `a | b | c`, one a
 * line, also with bars at both ends as in Markdown, and fields of records, `name: value`.
 */

/** A bar between two cells, or at the end of a row. */
const BAR = /(?<=^|\s)\|(?=\s|$)/gu;

/** The positions of the bars of a line. */
export const barsIn = (line: string): number[] =>
  Array.from(line.matchAll(BAR), ({ index }) => index);

/** The white space before a column of a table in plain text. */
const GAP = /(?<=\S)(?:\t| {2})[\t ]*(?=\S)/gu;

/** Where a column begins, and whether more is before it than in a justified line. */
const columnOf = ({ 0: gap, index }: RegExpExecArray) => ({
  at: index + gap.length,
  isWide: gap.length > 2 || gap.includes("\t"),
});

const ITEM = /^\s*(?:[-*+•–◦▪]|\(?(?:\d{1,3}|\p{L})[.)])\s+\S/u;

/** Whether a line begins an item of a list: it has a mark, a number or a letter. */
export const isItem = (line: string): boolean => ITEM.test(line);

/** The name of a field has few words, and no bar. */
const FIELD = /^[^\s:|](?:[^\n:|]{0,58}[^\s:|])?: +\S/u;

/** Whether a line is a field, and the line before or after it, too. */
export function isFieldOfSeveral(lines: readonly string[], i: number): boolean {
  const isField = (at: number): boolean => FIELD.test(lines[at] ?? "");
  return isField(i) && (isField(i - 1) || isField(i + 1));
}

/**
 * Numbers the parts of a text that a quotation stays in: each cell of a table, each bar, each field
 * of several, each item, each paragraph, and what is around them. A line with bars is a row if a
 * line beside it has as many: `string | undefined` in a sentence is no table. In plain text, a
 * column begins behind two spaces at the same place as in a line beside it, or in such a line
 * behind more.
 *
 * @example
 * const partAt = partsOf("Prices:\nTea | 2 EUR\nMilk | 1 EUR");
 * partAt(0); // 0
 * partAt(8) === partAt(14); // false: "Tea" and "2 EUR"
 */
export function partsOf(text: string): (position: number) => number {
  if (!text.includes("\n")) return () => 0;
  const lines = text.split("\n");
  const bars = lines.map(barsIn);
  const isRow = (i: number): boolean => {
    const count = bars[i]!.length;
    return count > 0 && (bars[i - 1]?.length === count || bars[i + 1]?.length === count);
  };
  const gaps = lines.map((line) => Array.from(line.matchAll(GAP), columnOf));
  const isAligned = (i: number, at: number): boolean =>
    [gaps[i - 1], gaps[i + 1]].some((beside) => beside?.some((other) => other.at === at));
  const columns = (i: number): number[] => {
    const own = gaps[i]!.filter(({ at, isWide }) => isWide || isAligned(i, at));
    return own.some(({ at }) => isAligned(i, at)) ? own.map(({ at }) => at) : [];
  };
  const part = new Uint32Array(text.length + 1);
  let at = 0;
  for (const [i, line] of lines.entries()) {
    const cuts = isRow(i) ? bars[i]!.flatMap((bar) => [bar, bar + 1]) : columns(i);
    if (cuts.length > 0 || isFieldOfSeveral(lines, i)) cuts.push(0, line.length);
    if (line.trim() === "" || isItem(line)) cuts.push(0);
    for (const cut of cuts) part[at + cut]!++;
    at += line.length + 1;
  }
  for (let i = 1; i < part.length; i++) part[i]! += part[i - 1]!;
  return (position) => part[position]!;
}
