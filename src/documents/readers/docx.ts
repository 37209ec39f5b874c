/**
 * Word documents (.docx), which mammoth converts to HTML.
 *
 * mammoth holds all parts of the file in memory, and its time grows with the square of the depth of
 * elements. So every part of XML is decompressed before, within a limit, and checked: XML with deep
 * elements is rejected, and XML with a document type, whose entities may expand without end.
 *
 * Source: ECMA-376, part 2, which forbids document types.
 */

import type { Readable } from "node:stream";
import { InputError } from "../../io/errors.ts";
import { formatBytes } from "../../io/format-bytes.ts";
import type { Document } from "../document.ts";
import type { SourceFile } from "../source-file.ts";
import { htmlDocument } from "./html.ts";

/** A novel has 5 MB. mammoth needs about 30 times the size in memory. */
const MAX_XML_BYTES = 32 * 2 ** 20;
const MAX_PARTS = 10_000;
/** Text in a table has 10 levels, and each table around it 5 more. */
const MAX_DEPTH = 1_000;
const DOCUMENT_TYPE = /<!(DOCTYPE|ENTITY)/;

export async function* readDocx(file: SourceFile): AsyncGenerator<Document> {
  const bytes = await file.bytes();
  const html = await convert(bytes, file.path).catch((error: unknown) => {
    throw error instanceof InputError ? error : damaged(file.path, error);
  });
  const { title, blocks } = htmlDocument(html, file.path);
  yield { title, blocks: Array.from(blocks, ({ text, headings }) => ({ text, headings })) };
}

async function convert(buffer: Buffer, where: string): Promise<string> {
  await checkParts(buffer, where);
  const { default: mammoth } = await import("mammoth");
  const convertImage = mammoth.images.imgElement(async () => ({ src: "" }));
  return (await mammoth.convertToHtml({ buffer }, { convertImage })).value;
}

/** @throws {InputError} for too much XML and for document types; errors of yauzl for damage */
async function checkParts(buffer: Buffer, where: string): Promise<void> {
  const { default: yauzl } = await import("yauzl");
  const zip = await new Promise<import("yauzl").ZipFile>((resolve, reject) => {
    yauzl.fromBuffer(buffer, { lazyEntries: true }, (error, opened) =>
      error ? reject(error) : resolve(opened),
    );
  });
  if (zip.entryCount > MAX_PARTS) throw tooLarge(where, `${zip.entryCount} parts`);
  let total = 0;
  for await (const entry of entriesOf(zip)) {
    if (!/\.(xml|rels)$/i.test(entry.fileName)) continue;
    const chunks: Buffer[] = [];
    for await (const chunk of await openEntry(zip, entry)) {
      total += (chunk as Buffer).length;
      if (total > MAX_XML_BYTES) throw tooLarge(where, "more");
      chunks.push(chunk as Buffer);
    }
    checkXml(Buffer.concat(chunks).toString("latin1").replaceAll("\0", ""), where);
  }
}

/** @param xml in an encoding that extends ASCII, or UTF-16 without its zero bytes */
function checkXml(xml: string, where: string): void {
  if (DOCUMENT_TYPE.test(xml)) throw withType(where);
  let depth = 0;
  for (const [tag] of xml.matchAll(/<\/|\/>|<[^!?]/g)) {
    depth += tag === "</" || tag === "/>" ? -1 : 1;
    if (depth > MAX_DEPTH) throw tooDeep(where);
  }
}

async function* entriesOf(zip: import("yauzl").ZipFile): AsyncGenerator<import("yauzl").Entry> {
  for (let read = 0; read < zip.entryCount; read++)
    yield await new Promise((resolve, reject) => {
      zip.once("entry", resolve);
      zip.once("error", reject);
      zip.readEntry();
    });
}

const openEntry = (zip: import("yauzl").ZipFile, entry: import("yauzl").Entry): Promise<Readable> =>
  new Promise((resolve, reject) => {
    zip.openReadStream(entry, (error, stream) => (error ? reject(error) : resolve(stream)));
  });

const tooLarge = (where: string, got: string): InputError =>
  new InputError({
    where,
    expected: `a Word document with at most ${formatBytes(MAX_XML_BYTES)} of text and ${MAX_PARTS} parts`,
    got,
    remedy: "check the file, or save it as text",
  });

const withType = (where: string): InputError =>
  new InputError({
    where,
    expected: "a Word document without document types in its XML",
    got: "one that defines entities",
    remedy: "check where the file comes from",
  });

const tooDeep = (where: string): InputError =>
  new InputError({
    where,
    expected: `a Word document with at most ${MAX_DEPTH} levels of elements in its XML`,
    got: "more",
    remedy: "open and save it again, or ignore it",
  });

const damaged = (where: string, cause: unknown): InputError =>
  new InputError(
    {
      where,
      expected: "a Word document (.docx)",
      got: cause instanceof Error ? cause.message : String(cause),
      remedy: "open and save it again, or ignore it",
    },
    { cause },
  );
