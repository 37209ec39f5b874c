/** PDF, read with the optional package `pdfjs-dist`, the PDF reader of Firefox. */

import { createRequire } from "node:module";
import { dirname, join, sep } from "node:path";
import { setImmediate } from "node:timers/promises";
import { InputError } from "../../io/errors.ts";
import type { Block, Document } from "../document.ts";
import { largestLine, type PageText, pageBlocks, pageText } from "../pdf-page.ts";
import type { SourceFile } from "../source-file.ts";
import { usefulTitle } from "../title.ts";

const PACKAGE = "pdfjs-dist";
/** The build for Node 20 and later. */
const BUILD = `${PACKAGE}/legacy/build/pdf.mjs`;

type PdfJs = typeof import("pdfjs-dist");
type Pdf = Awaited<ReturnType<PdfJs["getDocument"]>["promise"]>;

export async function* readPdf(file: SourceFile): AsyncGenerator<Document> {
  const bytes = new Uint8Array(await file.bytes());
  const pdfjs = await load(file.path);
  process.on("unhandledRejection", ignoreParserError);
  try {
    yield await readDocument(pdfjs, bytes, file);
  } finally {
    await setImmediate(); // a rejection is reported after the work that it belongs to
    process.off("unhandledRejection", ignoreParserError);
  }
}

/**
 * pdf.js rejects promises that nobody awaits when a file is damaged, which would end the process.
 * The rest of the file is still read, or the error comes from a promise that is awaited too.
 */
function ignoreParserError(reason: unknown): void {
  const { name } = (reason ?? {}) as { readonly name?: unknown };
  if (!PARSER_ERRORS.test(String(name))) throw reason;
}

/** The names of the errors of pdf.js. */
const PARSER_ERRORS = /Exception$|^FormatError$/;

async function readDocument(pdfjs: PdfJs, bytes: Uint8Array, file: SourceFile): Promise<Document> {
  // the maps of Chinese, Japanese and Korean fonts that are not in the file
  const folder = dirname(createRequire(import.meta.url).resolve(`${PACKAGE}/package.json`));
  const data = {
    cMapUrl: join(folder, "cmaps") + sep,
    standardFontDataUrl: join(folder, "standard_fonts") + sep,
  };
  const options = { ...data, data: bytes, verbosity: 0, isEvalSupported: false };
  const pdf = await pdfjs.getDocument(options).promise.catch((error: unknown) => {
    throw damaged(file.path, error);
  });
  try {
    const info = await pdf.getMetadata().catch(() => undefined);
    const given: unknown = (info?.info as { Title?: unknown } | undefined)?.Title;
    const blocks: Block[] = [];
    const lost = new Map<number, number>();
    let heading: string | undefined;
    for (let number = 1; number <= pdf.numPages; number++) {
      const page = await readPage(pdf, number, file.path);
      heading ??= number === 1 ? largestLine(page) : undefined;
      if (page.lost > 0) lost.set(number, page.lost);
      for (const block of pageBlocks(page, number)) {
        file.budget.spend("characters", block.text.length);
        blocks.push(block);
      }
      await file.budget.pause();
    }
    if (lost.size > 0) file.report(withoutMap(file.path, lost));
    const title = typeof given === "string" ? usefulTitle(given) : undefined;
    return { title: title ?? heading ?? "", blocks };
  } finally {
    await pdf.loadingTask.destroy();
  }
}

async function readPage(pdf: Pdf, number: number, where: string): Promise<PageText> {
  try {
    const page = await pdf.getPage(number);
    const { items } = await page.getTextContent();
    const [left = 0, bottom = 0, right = 0, top = 0] = page.view;
    const isTurned = page.rotate % 180 !== 0;
    const [width, height] = [right - left, top - bottom];
    page.cleanup();
    return pageText(items, isTurned ? height > width : width > height);
  } catch (error) {
    throw damaged(`${where}, page ${number}`, error);
  }
}

async function load(where: string): Promise<PdfJs> {
  try {
    // pdf.js needs the class to be loaded, and to draw, but not to read text
    (globalThis as { DOMMatrix?: unknown }).DOMMatrix ??= class {};
    return await import(BUILD);
  } catch (cause) {
    throw new InputError(
      {
        where,
        expected: `the package ${PACKAGE}, which reads PDF`,
        got: `none that Node ${process.versions.node} can load`,
        remedy: `install it (npm install ${PACKAGE}@5), or convert the file to text`,
      },
      { cause },
    );
  }
}

/** `12 characters on page 3, 4 on page 7`, of at most ten pages. */
function withoutMap(where: string, lost: ReadonlyMap<number, number>): InputError {
  const pages = [...lost].map(([page, count]) => `${count} on page ${page}`);
  const more = pages.length > 10 ? ` and on ${pages.length - 10} more pages` : "";
  return new InputError({
    where,
    expected: "fonts that say which characters they draw",
    got: `characters without a meaning, which are left out: ${pages.slice(0, 10).join(", ")}${more}`,
    remedy: "recognise the text of these pages (OCR) if you need it",
  });
}

const damaged = (where: string, cause: unknown): InputError =>
  new InputError(
    {
      where,
      expected: "a PDF document that is whole and has no password",
      got: (cause instanceof Error ? cause.message : String(cause)).replace(/\.$/, ""),
      remedy: "save it again, or ignore it",
    },
    { cause },
  );
