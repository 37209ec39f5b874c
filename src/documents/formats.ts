/** The formats of documents, by the ending of the file's name. */

import type { Reader } from "./tree/document.ts";

type LoadReader = () => Promise<Reader>;

// Parsers are loaded when a file needs them.
const text: LoadReader = async () => (await import("./readers/text.ts")).readPlainText;
const markdown: LoadReader = async () => (await import("./readers/markdown.ts")).readMarkdown;
const html: LoadReader = async () => (await import("./readers/html.ts")).readHtml;
const table: LoadReader = async () => (await import("./readers/table.ts")).readTable;
const json: LoadReader = async () => (await import("./readers/json.ts")).readJson;
const jsonLines: LoadReader = async () => (await import("./readers/json.ts")).readJsonLinesFile;
const pdf: LoadReader = async () => (await import("./readers/pdf.ts")).readPdf;
const docx: LoadReader = async () => (await import("./readers/docx.ts")).readDocx;
const pptx: LoadReader = async () => (await import("./readers/pptx.ts")).readPptx;
const xlsx: LoadReader = async () => (await import("./readers/xlsx.ts")).readXlsx;
const openDocument: LoadReader = async () =>
  (await import("./readers/open-document.ts")).readOpenDocument;
const epub: LoadReader = async () => (await import("./readers/epub.ts")).readEpub;
const notebook: LoadReader = async () => (await import("./readers/notebook.ts")).readNotebook;
const rst: LoadReader = async () => (await import("./readers/rst.ts")).readRst;
const eml: LoadReader = async () => (await import("./readers/eml.ts")).readEml;
const code: LoadReader = async () => (await import("./readers/code.ts")).readCode;

const CODE_ENDINGS: readonly string[] =
  "py js mjs cjs jsx ts mts cts tsx java kt scala go rs c h cc cpp hpp cs swift rb php pl lua r jl sh bash sql".split(
    " ",
  );

const READERS = new Map<string, LoadReader>([
  ["txt", text],
  ["text", text],
  ["md", markdown],
  ["markdown", markdown],
  ["mdx", markdown],
  ["html", html],
  ["htm", html],
  ["xhtml", html],
  ["csv", table],
  ["tsv", table],
  ["json", json],
  ["jsonl", jsonLines],
  ["ndjson", jsonLines],
  ["pdf", pdf],
  ["docx", docx],
  ["docm", docx],
  ["pptx", pptx],
  ["pptm", pptx],
  ["ppsx", pptx],
  ["xlsx", xlsx],
  ["xlsm", xlsx],
  ["odt", openDocument],
  ["ods", openDocument],
  ["odp", openDocument],
  ["epub", epub],
  ["ipynb", notebook],
  ["rst", rst],
  ["eml", eml],
  ...CODE_ENDINGS.map((ending): [string, LoadReader] => [ending, code]),
]);

/** The endings that have a reader, for messages. */
export const FORMATS: string = Array.from(READERS.keys())
  .filter((ending) => !CODE_ENDINGS.includes(ending))
  .map((ending) => `.${ending}`)
  .concat("source code")
  .join(" ");

/** Loads the reader of a file, plain or gzip. Undefined for an unknown ending. */
export const readerOf = (name: string): LoadReader | undefined => READERS.get(endingOf(name));

/** `notes.MD.gz` -> `md`. */
const endingOf = (name: string): string =>
  /\.([^./]+?)(?:\.gz)?$/i.exec(name)?.[1]?.toLowerCase() ?? "";

export const isJsonLinesName = (name: string): boolean => readerOf(name) === jsonLines;
