/**
 * The cells of tables in a text: rows of `a | b | c`, one a line, as documents are read
 * (src/documents), also with bars at both ends as in Markdown.
 */

/** A bar between two cells, or at the end of a row. */
const BAR = /(?<=^|\s)\|(?=\s|$)/gu;

/**
 * Numbers the parts of a text that a quotation stays in: each cell of a table, each bar, and what
 * is before, between and after tables. A line with bars is a row if a line beside it has as many:
 * `string | undefined` in a sentence is no table.
 *
 * @example
 * const partAt = partsOf("Prices:\nTea | 2 EUR\nMilk | 1 EUR");
 * partAt(0); // 0
 * partAt(8) === partAt(14); // false: "Tea" and "2 EUR"
 */
export function partsOf(text: string): (position: number) => number {
  if (!text.includes("|")) return () => 0;
  let start = 0;
  const rows = text.split("\n").map((line) => {
    const first = start;
    start += line.length + 1;
    const bars = Array.from(line.matchAll(BAR), ({ index }) => first + index);
    return { start: first, end: first + line.length, bars };
  });
  const isRow = (i: number): boolean => {
    const count = rows[i]!.bars.length;
    const isBeside = (other: number): boolean => rows[other]?.bars.length === count;
    return count > 0 && (isBeside(i - 1) || isBeside(i + 1));
  };
  const part = new Uint32Array(text.length + 1);
  for (const [i, { start, end, bars }] of rows.entries())
    if (isRow(i))
      for (const at of [start, end, ...bars.flatMap((bar) => [bar, bar + 1])]) part[at]!++;
  for (let at = 1; at < part.length; at++) part[at]! += part[at - 1]!;
  return (position) => part[position]!;
}
