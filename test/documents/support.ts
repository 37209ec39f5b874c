/** Files of documents for tests. */

import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { crc32, deflateRawSync } from "node:zlib";
import { type ReadDocumentsOptions, readDocuments } from "../../src/documents/read-documents.ts";
import type { Passage } from "../../src/text/passage.ts";
import { loadTokenizer, type Tokenizer } from "../../src/text/tokens/tokenizer.ts";

export const tokenizer: Tokenizer = await loadTokenizer("test/fixtures/t5/spiece.model");

/** All passages, and the messages about what was skipped, by file. */
export async function readAll(
  source: string,
  options: ReadDocumentsOptions = {},
): Promise<{ passages: Passage[]; skipped: Record<string, string> }> {
  const passages: Passage[] = [];
  const skipped: Record<string, string> = {};
  const onSkip: ReadDocumentsOptions["onSkip"] = ({ file, problem }) => {
    skipped[file] = problem.message;
  };
  for await (const passage of readDocuments(source, { tokenizer, onSkip, ...options }))
    passages.push(passage);
  return { passages, skipped };
}

/** What a file of a folder is read as: its passages, and the messages about what was left out. */
export async function readOne(
  name: string,
  contents: string | Buffer,
  options: ReadDocumentsOptions = {},
): Promise<{ passages: Passage[]; notes: string[] }> {
  const folder = await mkdtemp(join(tmpdir(), "reatt-documents-"));
  try {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), contents);
    const notes: string[] = [];
    const onSkip: ReadDocumentsOptions["onSkip"] = ({ problem }) =>
      notes.push(problem.message.replaceAll(`${folder}/`, ""));
    const passages: Passage[] = [];
    for await (const passage of readDocuments(folder, { tokenizer, onSkip, ...options }))
      passages.push(passage);
    return { passages, notes };
  } finally {
    await rm(folder, { recursive: true });
  }
}

const RELATIONSHIPS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const PACKAGE = "http://schemas.openxmlformats.org/package/2006";

/** The parts of an office file whose main part is `main`. */
export const officeParts = (
  main: string,
  parts: Readonly<Record<string, string>>,
): Record<string, string> => ({
  "[Content_Types].xml": `<Types xmlns="${PACKAGE}/content-types"/>`,
  "_rels/.rels": relationships({ main: ["officeDocument", `/${main}`] }),
  ...parts,
});

/** Relationships by their ids. */
export const relationships = (
  all: Readonly<Record<string, readonly [type: string, target: string]>>,
): string =>
  `<Relationships xmlns="${PACKAGE}/relationships">${Object.entries(all)
    .map(
      ([id, [type, target]]) =>
        `<Relationship Id="${id}" Type="${RELATIONSHIPS}/${type}" Target="${target}"/>`,
    )
    .join("")}</Relationships>`;

const WORD =
  'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" ' +
  `xmlns:r="${RELATIONSHIPS}" xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" ` +
  'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"';

/** A Word document with this XML as its body, and further parts (`styles`, `numbering`) by type. */
export function docx(
  body: string,
  prolog = "",
  parts: Readonly<Record<string, string>> = {},
  main = "word/document.xml",
): Buffer {
  const targets = Object.keys(parts).map((type) => [
    type,
    [type.replace(/\d+$/, ""), `/word/${type}.xml`],
  ]);
  const slash = main.lastIndexOf("/") + 1;
  return zip({
    ...officeParts(main, {
      [main]: `${prolog}<w:document ${WORD}><w:body>${body}</w:body></w:document>`,
      [`${main.slice(0, slash)}_rels/${main.slice(slash)}.rels`]: relationships(
        Object.fromEntries(targets),
      ),
    }),
    ...Object.fromEntries(
      Object.entries(parts).map(([type, xml]) => [
        `word/${type}.xml`,
        `<w:root ${WORD}>${xml}</w:root>`,
      ]),
    ),
  });
}

export const wordParagraph = (text: string, style = ""): string =>
  `<w:p>${style && `<w:pPr><w:pStyle w:val="${style}"/></w:pPr>`}<w:r><w:t>${text}</w:t></w:r></w:p>`;

/** A zip file with deflated entries. Source: APPNOTE.TXT 6.3, sections 4.3.7, 4.3.12 and 4.3.16. */
export function zip(entries: Readonly<Record<string, string | Buffer>>): Buffer {
  const files: Buffer[] = [];
  const directory: Buffer[] = [];
  for (const [name, content] of Object.entries(entries)) {
    const data = Buffer.from(content);
    const packed = deflateRawSync(data);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(8, 4); // deflate
    common.writeUInt32LE(crc32(data), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(data.length, 18);
    common.writeUInt16LE(name.length, 22);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(
      files.reduce((sum, { length }) => sum + length, 0),
      10,
    );
    directory.push(Buffer.from("PK\x01\x02\x14\0"), common, rest, Buffer.from(name));
    files.push(Buffer.concat([Buffer.from("PK\x03\x04"), common, Buffer.from(name), packed]));
  }
  const list = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", "latin1");
  for (const at of [8, 10]) end.writeUInt16LE(files.length, at);
  end.writeUInt32LE(list.length, 12);
  end.writeUInt32LE(
    files.reduce((sum, { length }) => sum + length, 0),
    16,
  );
  return Buffer.concat([...files, list, end]);
}

/** A PDF document with a page for each text. */
export const pdf = (...pages: readonly string[]): Buffer =>
  pdfOf(pages.map((text) => `BT /F1 12 Tf 72 700 Td (${text}) Tj ET`));

export interface PdfParts {
  /** Objects of the font F1 and what it refers to. Default: Helvetica. */
  readonly font?: string;
  readonly title?: string;
  readonly size?: readonly [width: number, height: number];
  /** The titles of an outline of one level, and the pages that they are on. */
  readonly bookmarks?: readonly (readonly [title: string, page: number])[];
}

/** A PDF document with these contents of pages. */
export function pdfOf(
  pages: readonly string[],
  {
    font = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    title,
    size = [612, 792],
    bookmarks = [],
  }: PdfParts = {},
): Buffer {
  const kids = pages.map((_, i) => `${4 + 2 * i} 0 R`).join(" ");
  const outline = bookmarks.map(([name, page], i) => {
    const next = i + 1 < bookmarks.length ? `/Next ${802 + i} 0 R` : "";
    return `${801 + i} 0 obj<</Title(${name})/Parent 800 0 R${next}/Dest[${2 + 2 * page} 0 R/Fit]>>endobj`;
  });
  const ends = `/First 801 0 R/Last ${800 + outline.length} 0 R/Count ${outline.length}`;
  const objects = [
    `1 0 obj<</Type/Catalog/Pages 2 0 R${outline.length > 0 ? "/Outlines 800 0 R" : ""}>>endobj`,
    ...(outline.length > 0 ? [`800 0 obj<</Type/Outlines${ends}>>endobj`, ...outline] : []),
    `2 0 obj<</Type/Pages/Kids[${kids}]/Count ${pages.length}>>endobj`,
    `3 0 obj${font}endobj`,
    ...pages.flatMap((stream, i) => [
      `${4 + 2 * i} 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 ${size.join(" ")}]/Contents ${5 + 2 * i} 0 R` +
        "/Resources<</Font<</F1 3 0 R>>>>>>endobj",
      `${5 + 2 * i} 0 obj<</Length ${stream.length}>>stream\n${stream}\nendstream endobj`,
    ]),
    ...(title === undefined ? [] : [`900 0 obj<</Title(${title})>>endobj`]),
  ];
  const info = title === undefined ? "" : "/Info 900 0 R";
  return Buffer.from(`%PDF-1.4\n${objects.join("\n")}\ntrailer<</Root 1 0 R${info}>>`, "latin1");
}
