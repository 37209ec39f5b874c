/** The formats of documents, by the ending of the file's name. */

import type { Reader } from "./document.ts";

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

const READERS = new Map<string, LoadReader>([
  ["txt", text],
  ["text", text],
  ["md", markdown],
  ["markdown", markdown],
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
]);

/** The endings that have a reader, for messages. */
export const FORMATS: string = Array.from(READERS.keys(), (ending) => `.${ending}`).join(" ");

/** Loads the reader of a file, plain or gzip. Undefined for an unknown ending. */
export const readerOf = (name: string): LoadReader | undefined => READERS.get(endingOf(name));

/** `notes.MD.gz` -> `md`. */
const endingOf = (name: string): string =>
  /\.([^./]+?)(?:\.gz)?$/i.exec(name)?.[1]?.toLowerCase() ?? "";

export const isJsonLinesName = (name: string): boolean => readerOf(name) === jsonLines;
