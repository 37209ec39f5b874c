/** A worker thread of pdf-thread.ts: reads the pages of PDF files with pdf.js. */

import { createRequire } from "node:module";
import { dirname, join, sep } from "node:path";
import { parentPort } from "node:worker_threads";
import { type PageText, pageText } from "./page.ts";
import type { Bookmark } from "./structure.ts";

/** Opens a file, reads one of its pages, or closes it. */
export type PdfRequest =
  | { readonly open: Uint8Array<ArrayBuffer> }
  | { readonly page: number }
  | { readonly close: true };

export interface PdfFile {
  readonly pages: number;
  /** The title property; not useful in many files. */
  readonly title: string | undefined;
  readonly bookmarks: readonly Bookmark[];
}

/** What a request gives, or why it fails. */
export type PdfReply =
  | { readonly value: PdfFile | PageText | undefined }
  | { readonly damage: string }
  | { readonly missing: string };

type PdfJs = typeof import("pdfjs-dist");
type Pdf = Awaited<ReturnType<PdfJs["getDocument"]>["promise"]>;

const PACKAGE = "pdfjs-dist";
/** The build for Node 20 and later. */
const BUILD = `${PACKAGE}/legacy/build/pdf.mjs`;

let pdf: Pdf | undefined;

parentPort!.on("message", async (request: PdfRequest) => {
  parentPort!.postMessage(await reply(request));
});

/**
 * pdf.js rejects promises that nobody awaits when a file is damaged, which would end the thread.
 * The rest of the file is still read, or the error comes from a promise that is awaited too.
 */
process.on("unhandledRejection", (reason) => {
  const { name } = (reason ?? {}) as { readonly name?: unknown };
  if (!PARSER_ERRORS.test(String(name))) throw reason;
});

/** The names of the errors of pdf.js. */
const PARSER_ERRORS = /Exception$|^FormatError$/;

async function reply(request: PdfRequest): Promise<PdfReply> {
  const pdfjs = await load().catch((error: unknown) => ({ missing: String(error) }));
  if ("missing" in pdfjs) return pdfjs;
  try {
    if ("open" in request) return { value: await open(pdfjs, request.open) };
    if ("page" in request) return { value: await readPage(pdf!, request.page) };
    await pdf?.loadingTask.destroy();
    pdf = undefined;
    return { value: undefined };
  } catch (error) {
    return { damage: (error instanceof Error ? error.message : String(error)).replace(/\.$/, "") };
  }
}

async function load(): Promise<PdfJs> {
  // pdf.js needs the class to be loaded, and to draw, but not to read text
  (globalThis as { DOMMatrix?: unknown }).DOMMatrix ??= class {};
  return await import(BUILD);
}

async function open(pdfjs: PdfJs, data: Uint8Array): Promise<PdfFile> {
  // the maps of Chinese, Japanese and Korean fonts that are not in the file
  const folder = dirname(createRequire(import.meta.url).resolve(`${PACKAGE}/package.json`));
  pdf = await pdfjs.getDocument({
    cMapUrl: join(folder, "cmaps") + sep,
    standardFontDataUrl: join(folder, "standard_fonts") + sep,
    data,
    verbosity: 0,
    isEvalSupported: false,
  }).promise;
  const info = await pdf.getMetadata().catch(() => undefined);
  const title: unknown = (info?.info as { Title?: unknown } | undefined)?.Title;
  return {
    pages: pdf.numPages,
    title: typeof title === "string" ? title : undefined,
    bookmarks: await bookmarksOf(pdf).catch(() => []),
  };
}

/** A book has some hundred. */
const MAX_BOOKMARKS = 5_000;

async function bookmarksOf(file: Pdf): Promise<Bookmark[]> {
  const bookmarks: Bookmark[] = [];
  const top = (await file.getOutline()) ?? [];
  const open = top.map((node) => ({ node, level: 1 })).reverse();
  for (let next = open.pop(); next && bookmarks.length < MAX_BOOKMARKS; next = open.pop()) {
    const { node, level } = next;
    const page = await pageOfTarget(file, node.dest).catch(() => undefined);
    if (page !== undefined) bookmarks.push({ title: node.title, level, page });
    for (const inner of [...node.items].reverse()) open.push({ node: inner, level: level + 1 });
  }
  return bookmarks;
}

/** @param given the name of a place, or a place: a page, and where on it */
async function pageOfTarget(
  file: Pdf,
  given: string | readonly unknown[] | null,
): Promise<number | undefined> {
  const place = typeof given === "string" ? await file.getDestination(given) : given;
  const target: unknown = place?.[0];
  if (typeof target === "number") return target + 1;
  if (typeof target !== "object" || target === null) return undefined;
  return (await file.getPageIndex(target as Parameters<Pdf["getPageIndex"]>[0])) + 1;
}

async function readPage(file: Pdf, number: number): Promise<PageText> {
  const page = await file.getPage(number);
  const { items } = await page.getTextContent();
  const [left = 0, bottom = 0, right = 0, top = 0] = page.view;
  const isTurned = page.rotate % 180 !== 0;
  const [width, height] = [right - left, top - bottom];
  page.cleanup();
  return pageText(items, isTurned ? height > width : width > height);
}
