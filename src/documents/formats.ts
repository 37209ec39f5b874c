/**
 * The formats of documents, one line each: the endings of the names, and the file of `readers/`,
 * which is loaded when a file needs it.
 */

import type { DocumentReader } from "./define-reader.ts";
import { isPlainText } from "./file/plain-file.ts";

/** A reader of the package. Its sample is in the tests, which write office files. */
export type Format = Omit<DocumentReader, "sample">;

const CODE =
  "py js mjs cjs jsx ts mts cts tsx java kt scala go rs c h cc cpp hpp cs swift rb php pl lua r jl sh bash sql";

/** The sections of manual pages, and those of Perl, OpenSSL and POSIX. */
const MANUAL =
  "1 2 3 4 5 6 7 8 9 1p 1ssl 2type 3const 3head 3p 3perl 3pm 3ssl 3t 3type 3x 5edit 5ssl 7edit 7ssl man";

const JSON_LINES = format("jsonl ndjson", () => import("./readers/json-lines.ts"));
const SOURCE_CODE = format(CODE, () => import("./readers/code.ts"));

export const FORMATS: readonly Format[] = [
  format("txt text types", () => import("./readers/text.ts")),
  format("md markdown mdx", () => import("./readers/markdown.ts")),
  format("html htm xhtml", () => import("./readers/html.ts")),
  format("csv tsv", () => import("./readers/table.ts")),
  format("json", () => import("./readers/json.ts")),
  JSON_LINES,
  format("pdf", () => import("./readers/pdf.ts")),
  format("docx docm", () => import("./readers/docx.ts")),
  format("pptx pptm ppsx", () => import("./readers/pptx.ts")),
  format("xlsx xlsm", () => import("./readers/xlsx.ts")),
  format("odt ods odp", () => import("./readers/open-document.ts")),
  format("epub", () => import("./readers/epub.ts")),
  format("ipynb", () => import("./readers/notebook.ts")),
  format("rst", () => import("./readers/rst.ts")),
  format("eml", () => import("./readers/eml.ts")),
  format("conf cnf cfg ini toml yaml yml properties", () => import("./readers/settings.ts")),
  format(MANUAL, () => import("./readers/manual.ts")),
  SOURCE_CODE,
];

function format(endings: string, load: () => Promise<Pick<Format, "read">>): Format {
  return {
    endings: endings.split(" "),
    async *read(file) {
      yield* (await load()).read(file);
    },
  };
}

const BY_ENDING: ReadonlyMap<string, Format> = new Map(
  FORMATS.flatMap((one) => one.endings.map((ending): [string, Format] => [ending, one])),
);

/** Names without an ending. Their contents say what they are. */
const UNNAMED = format("", () => import("./readers/unnamed.ts"));

/** The format of a file by its name, plain or gzip. Undefined for an unknown ending. */
export const formatOf = (name: string, own?: readonly DocumentReader[]): Format | undefined =>
  ownReaderOf(name, own) ??
  BY_ENDING.get(endingOf(name)) ??
  (isUnnamed(name) ? UNNAMED : undefined);

/** Whether a file of a folder has a format. One whose name has no ending has one if it is text. */
export const isReadable = async (
  { path, name }: { readonly path: string; readonly name: string },
  own?: readonly DocumentReader[],
): Promise<boolean> => {
  const format = formatOf(name, own);
  return format === UNNAMED ? isPlainText(path) : format !== undefined;
};

const isUnnamed = (name: string): boolean => /(?:^|\/)[^./]+(?:\.gz)?$/i.test(name);

/** The reader of the user for a file. It comes before those of the list. */
export const ownReaderOf = (
  name: string,
  own: readonly DocumentReader[] = [],
): DocumentReader | undefined => own.find(({ endings }) => endings.includes(endingOf(name)));

/** `notes.MD.gz` -> `md`. */
export const endingOf = (name: string): string =>
  /\.([^./]+)$/.exec(name.replace(/\.gz$/i, ""))?.[1]?.toLowerCase() ?? "";

export const isJsonLinesName = (name: string): boolean => formatOf(name) === JSON_LINES;

/** The endings that are read, for messages. */
export const endingsText = (own: readonly DocumentReader[] = []): string =>
  [...own, ...FORMATS]
    .filter((one) => one !== SOURCE_CODE)
    .flatMap(({ endings }) => endings.map((ending) => `.${ending}`))
    .concat("source code")
    .join(" ");
