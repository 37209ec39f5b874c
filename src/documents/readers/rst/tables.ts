/** The tables of reStructuredText: grids, columns below `====`, and those of directives. */

export interface PlainTable {
  readonly rows: readonly { readonly cells: readonly string[]; readonly line: number }[];
  readonly headerRows: number;
}

export const isGridBorder = (line: string): boolean => /^\+(?:[-=]+\+)+\s*$/.test(line);
export const isSimpleBorder = (line: string): boolean => /^={2,}(?: +={2,})+\s*$/.test(line);

/** @param first the line of the file of the first border */
export function gridTable(lines: readonly string[], first: number): PlainTable {
  const columns = positionsOf(lines[0]!, "+");
  const rows: { cells: string[]; line: number }[] = [];
  let [open, headerRows] = [undefined as { cells: string[]; line: number } | undefined, 0];
  for (const [i, line] of lines.entries()) {
    if (/^\+[-=+| ]*$/.test(line) && /[-=]{2}/.test(line)) {
      if (open) rows.push(open);
      open = undefined;
      if (line.includes("=")) headerRows = rows.length;
      continue;
    }
    open ??= { cells: columns.slice(1).map(() => ""), line: first + i };
    for (const [c, part] of cellsAt(line, columns).entries())
      open.cells[c] = `${open.cells[c]!} ${part}`.trim();
  }
  if (open) rows.push(open);
  return { rows, headerRows };
}

/** A cell goes on to the next bar, also over the borders of columns. */
function cellsAt(line: string, columns: readonly number[]): string[] {
  return columns.slice(1).map((end, c) => {
    const start = columns[c]!;
    const isStart = line[start] === "|" || line[start] === "+";
    if (!isStart) return "";
    const bar = line.indexOf("|", start + 1);
    return line.slice(start + 1, bar === -1 ? Math.max(end, line.length) : bar).trim();
  });
}

const positionsOf = (line: string, mark: string): number[] =>
  [...line.matchAll(new RegExp(`\\${mark}`, "g"))].map(({ index }) => index);

/** @param first the line of the file of the first border */
export function simpleTable(lines: readonly string[], first: number): PlainTable {
  const starts = [...lines[0]!.matchAll(/=+/g)].map(({ index }) => index);
  const rows: { cells: string[]; line: number }[] = [];
  let headerRows = 0;
  for (const [i, line] of lines.entries()) {
    if (isSimpleBorder(line)) {
      if (i > 0 && i < lines.length - 1) headerRows = rows.length;
      continue;
    }
    if (/^[-\s]*$/.test(line)) continue;
    const cells = starts.map((start, c) => line.slice(start, starts[c + 1] ?? line.length).trim());
    const above = rows.at(-1);
    if (cells[0] === "" && above && rows.length > headerRows)
      above.cells = above.cells.map((cell, c) => `${cell} ${cells[c]!}`.trim());
    else rows.push({ cells, line: first + i });
  }
  return { rows, headerRows };
}
