/**
 * Jupyter notebooks: cells of Markdown, and of code with the texts that it printed.
 *
 * Source: https://nbformat.readthedocs.io/en/latest/format_description.html
 */

import { InputError } from "../../io/errors.ts";
import { parseJson } from "../../io/json/parse-json.ts";
import { isFields } from "../../text/fields.ts";
import { LeftOut } from "../file/left-out.ts";
import type { SourceFile } from "../file/source-file.ts";
import type { Document } from "../tree/document.ts";
import { Outline } from "../tree/outline.ts";
import { addMarkdown } from "./markdown.ts";

const MAX_VALUES = 5_000_000;
/** The colours of a terminal. */
const ESCAPES = /\p{Cc}\[[\d;]{0,20}[A-Za-z]/gu;

export async function* read(file: SourceFile): AsyncGenerator<Document> {
  const outline = new Outline();
  const leftOut = new LeftOut();
  let number = 0;
  for (const cell of cellsOf(await file.text(), file.path)) {
    const place = { cell: ++number };
    const source = textOf(cell.source ?? cell.input);
    if (cell.cell_type === "markdown" || cell.cell_type === "heading") {
      const level = typeof cell.level === "number" ? `${"#".repeat(cell.level)} ` : "";
      const { budget } = file;
      await addMarkdown(level + source, outline, budget, { hasLines: false, place });
    } else if (cell.cell_type === "raw") outline.text(source, { place });
    else {
      outline.text(trimmed(source), { kind: "code", place });
      for (const output of Array.isArray(cell.outputs) ? cell.outputs : []) {
        const text = isFields(output) ? outputText(output) : undefined;
        if (text === undefined) leftOut.add("output");
        else outline.text(trimmed(text.replace(ESCAPES, "")), { kind: "code", place });
      }
    }
    await file.budget.pause();
  }
  leftOut.report(file);
  yield outline.document(undefined);
}

type Cell = Readonly<Record<string, unknown>>;

/** The cells of a notebook of version 3 or 4. */
function cellsOf(json: string, where: string): Cell[] {
  const notebook = parse(json, where);
  const sheets =
    isFields(notebook) && Array.isArray(notebook.worksheets) ? notebook.worksheets : [];
  const lists = [notebook, ...sheets].map((one) => (isFields(one) ? one.cells : undefined));
  if (!lists.some(Array.isArray)) throw noNotebook(where, "JSON without cells");
  return lists.flatMap((list) => (Array.isArray(list) ? list.filter(isFields) : []));
}

function parse(json: string, where: string): unknown {
  try {
    return parseJson(json, where, MAX_VALUES);
  } catch (error) {
    throw error instanceof InputError ? error : noNotebook(where, (error as Error).message);
  }
}

/** What a cell printed, or the text of its result; undefined for an image and the like. */
function outputText(output: Cell): string | undefined {
  if (output.text !== undefined) return textOf(output.text);
  if (output.output_type === "error" || output.output_type === "pyerr")
    return `${output.ename}: ${output.evalue}`;
  const data = isFields(output.data) ? output.data : {};
  const plain = data["text/plain"] ?? data["text/markdown"];
  return plain === undefined || "image/png" in data ? undefined : textOf(plain);
}

/** Texts are lists of lines. */
const textOf = (value: unknown): string =>
  Array.isArray(value) ? value.map(String).join("") : typeof value === "string" ? value : "";

const trimmed = (code: string): string => code.slice(/^(?:[^\S\n]*\n)*/.exec(code)![0].length);

const noNotebook = (where: string, got: string): InputError =>
  new InputError({
    where,
    expected: "a Jupyter notebook (.ipynb)",
    got,
    remedy: "save it again, or ignore it",
  });
