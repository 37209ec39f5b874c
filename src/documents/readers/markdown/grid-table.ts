/** Grid tables of Pandoc, whose borders are `+---+`. */

import type { MarkdownIt, StateBlock } from "markdown-it";
import { gridTable, isGridBorder } from "../rst/tables.ts";
import { lineOf } from "./block-rules.ts";

export function gridTables(md: MarkdownIt): void {
  md.block.ruler.before("table", "grid_table", table, { alt: ["paragraph", "reference"] });
}

function table(state: StateBlock, start: number, end: number, isSilent: boolean): boolean {
  if (!isGridBorder(lineOf(state, start).replace(/:/g, "-"))) return false;
  const lines: string[] = [];
  for (let line = start; line < end && /^[+|]/.test(lineOf(state, line)); line++)
    lines.push(lineOf(state, line));
  const borders = lines.map((line) => (line.startsWith("+") ? line.replace(/:/g, "-") : line));
  if (lines.length < 3 || !isGridBorder(borders.at(-1)!)) return false;
  if (isSilent) return true;
  const { rows, headerRows } = gridTable(borders, 0);
  const lineMap = (line: number): [number, number] => [start + line, start + line + 1];
  state.push("table_open", "table", 1).map = [start, start + lines.length];
  for (const [i, { cells, line }] of rows.entries()) {
    state.push("tr_open", "tr", 1).map = lineMap(line);
    const name = i < headerRows ? "th" : "td";
    for (const { text, columns = 1, rows: covered = 1 } of cells) {
      state.push(`${name}_open`, name, 1).attrs = [
        ["colspan", String(columns)],
        ["rowspan", String(covered)],
      ];
      const inline = state.push("inline", "", 0);
      inline.content = text;
      inline.children = [];
      state.push(`${name}_close`, name, -1);
    }
    state.push("tr_close", "tr", -1);
  }
  state.push("table_close", "table", -1);
  state.line = start + lines.length;
  return true;
}
