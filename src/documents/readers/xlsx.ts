/**
 * Excel workbooks (.xlsx). Each row of a sheet is a document, as of CSV.
 *
 * Source: ECMA-376, part 1, 18 (SpreadsheetML).
 */

import { LeftOut } from "../file/left-out.ts";
import type { SourceFile } from "../file/source-file.ts";
import { type Container, withContainer } from "../office/container.ts";
import { isTrue, mainPart, relatedPart, relationshipsOf } from "../office/office.ts";
import type { Row } from "../tables/delimited.ts";
import {
  GENERAL,
  type NumberFormat,
  numberFormat,
  type ShownNumber,
} from "../tables/number-format.ts";
import type { Document } from "../tree/document.ts";
import { childrenOf, type Element, find, first, textContent } from "../tree/markup.ts";
import { withScripts } from "../tree/scripts.ts";
import { RecordIds } from "./record-ids.ts";
import { sheetDocuments } from "./table.ts";

const MAX_COLUMNS = 16_384;
/** Days from 1899-12-30 to the first day of workbooks that count from 1904. */
const EPOCH_1904 = 1_462;

export async function* read(file: SourceFile): AsyncGenerator<Document> {
  yield* withContainer(file, "an Excel workbook (.xlsx)", (container) =>
    workbookRows(container, file),
  );
}

async function* workbookRows(container: Container, file: SourceFile): AsyncGenerator<Document> {
  const main = await mainPart(container);
  const relationships = await relationshipsOf(container, main);
  const part = (type: string) => relatedPart(container, relationships, type);
  const workbook = await container.xml(main);
  if (!workbook) return;
  const shared = await part("sharedStrings");
  const context: Context = {
    texts: shared ? [...find(shared, "si")].map(richText) : [],
    formats: numberFormats(await part("styles")),
    isFrom1904: isTrue(first(workbook, "workbookPr")?.attributes.date1904),
    file,
  };
  const leftOut = new LeftOut();
  const ids = new RecordIds();
  for (const { attributes } of find(workbook, "sheet")) {
    const { name: sheet = "" } = attributes;
    const relationship = relationships.find(({ id }) => id === attributes["r:id"]);
    const root = relationship && (await container.xml(relationship.target));
    if (relationship?.type === "chartsheet") leftOut.add("chart");
    if (!root || relationship.type !== "worksheet") continue;
    yield* sheetDocuments(rowsOf(root, context), file, ids, sheet);
  }
  ids.report(file.path, file.report);
  for (const name of container.names)
    if (/\/charts\/chart\d+\.xml$/.test(name)) leftOut.add("chart");
  leftOut.report(file);
}

interface Context {
  readonly texts: readonly string[];
  /** What the cells of a style show of their numbers. */
  readonly formats: readonly NumberFormat[];
  readonly isFrom1904: boolean;
  readonly file: SourceFile;
}

/** The rows of a sheet with text. Cells that are merged have the text of the first one. */
function rowsOf(sheet: Element, context: Context): Row[] {
  const rows = new Map<number, ShownNumber[]>();
  let number = 0;
  for (const row of find(sheet, "row")) {
    number = Number.parseInt(row.attributes.r ?? "", 10) || number + 1;
    const cells: ShownNumber[] = [];
    for (const cell of childrenOf(row, "c")) {
      context.file.budget.spend("cells");
      const column = columnOf(cell.attributes.r) ?? cells.length;
      if (column >= MAX_COLUMNS) continue;
      context.file.budget.spend("cells", Math.max(0, column - cells.length));
      while (cells.length < column) cells.push(EMPTY);
      cells[column] = shownOf(cell, context);
    }
    rows.set(number, cells);
  }
  for (const { attributes } of find(sheet, "mergeCell")) fill(rows, attributes.ref, context);
  return [...rows]
    .filter(([, cells]) => cells.some(({ text }) => text !== ""))
    .sort(([a], [b]) => a - b)
    .map(([line, cells]) => ({
      cells: cells.map(({ text }) => text),
      values: cells.map(({ value }) => value),
      lines: [line, line],
    }));
}

const EMPTY: ShownNumber = { text: "" };

function fill(
  rows: ReadonlyMap<number, ShownNumber[]>,
  range: string | undefined,
  { file }: Context,
): void {
  const [, from = "", top = "", to = "", bottom = ""] =
    /^([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})$/.exec(range ?? "") ?? [];
  const [left, right] = [columnOf(from), columnOf(to)];
  if (left === undefined || right === undefined || right >= MAX_COLUMNS) return;
  const shown = rows.get(Number(top))?.[left] ?? EMPTY;
  if (shown.text === "") return;
  for (let row = Number(top); row <= Number(bottom); row++) {
    const cells = rows.get(row);
    file.budget.spend("cells");
    for (let column = left; cells && column <= right; column++) {
      file.budget.spend("cells");
      file.budget.spend("characters", shown.text.length);
      while (cells.length <= column) cells.push(EMPTY);
      if (cells[column]!.text === "") cells[column] = shown;
    }
  }
}

/** `B7` -> 1. */
function columnOf(reference: string | undefined): number | undefined {
  const letters = /^([A-Z]{1,3})\d*$/.exec(reference ?? "")?.[1];
  if (letters === undefined) return undefined;
  return [...letters].reduce((sum, letter) => 26 * sum + letter.charCodeAt(0) - 64, 0) - 1;
}

function shownOf(cell: Element, { texts, formats, isFrom1904 }: Context): ShownNumber {
  const { t: type = "n", s: style = "0" } = cell.attributes;
  if (type === "inlineStr") return { text: childrenOf(cell, "is").map(richText).join("").trim() };
  const value = childrenOf(cell, "v").map(textContent).join("").trim();
  if (type === "s") return { text: (texts[Number(value)] ?? "").trim() };
  if (type === "b") return { text: value === "1" ? "true" : "false" };
  if (type === "e") return EMPTY;
  const number = Number(value);
  if (type !== "n" || value === "" || !Number.isFinite(number)) return { text: value };
  if (LONG_INTEGER.test(value)) return { text: value }; // a number would lose digits
  const { show, isDate } = formats[Number(style)] ?? GENERAL;
  return show(isDate && isFrom1904 && number >= 1 ? number + EPOCH_1904 : number);
}

const LONG_INTEGER = /^-?\d{17,}$/;

/** A text whose parts may have formats, without the reading of Japanese words. */
function richText(item: Element): string {
  const runs = childrenOf(item).filter(({ name }) => name === "r" || name === "t");
  return withScripts(
    runs.map((run) => {
      const texts = run.name === "t" ? [run] : childrenOf(run, "t");
      const text = texts.map((one) => unescaped(textContent(one))).join("");
      const align = first(run, "vertAlign")?.attributes.val;
      return { text, script: SCRIPTS[align ?? ""] };
    }),
  );
}

const SCRIPTS: Readonly<Record<string, "sup" | "sub" | undefined>> = {
  superscript: "sup",
  subscript: "sub",
};

/** `_x000D_` is a character that XML cannot hold, or the end of a line (22.9.2.19). */
const unescaped = (text: string): string =>
  text
    .replace(/_x([\dA-F]{4})_/gi, (_, code: string) =>
      String.fromCharCode(Number.parseInt(code, 16)),
    )
    .replace(/\r\n?/g, "\n");

/** The formats of the styles of cells. */
function numberFormats(styles: Element | undefined): NumberFormat[] {
  if (!styles) return [];
  const codes = new Map(
    [...find(styles, "numFmt")].map(({ attributes }) => [
      Number(attributes.numFmtId),
      attributes.formatCode,
    ]),
  );
  const [cells] = find(styles, "cellXfs");
  return (cells ? childrenOf(cells, "xf") : []).map(({ attributes }) => {
    const id = Number(attributes.numFmtId ?? "0");
    return numberFormat(id, codes.get(id));
  });
}
