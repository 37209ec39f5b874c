/** PDF, read with the optional package `unpdf`, which contains pdf.js. */

import { setImmediate } from "node:timers/promises";
import { InputError } from "../../io/errors.ts";
import type { Block, Document } from "../document.ts";
import type { SourceFile } from "../source-file.ts";

const PACKAGE = "unpdf";

export async function* readPdf(file: SourceFile): AsyncGenerator<Document> {
  const bytes = new Uint8Array(await file.bytes());
  const unpdf = await load(file.path);
  process.on("unhandledRejection", ignoreParserError);
  try {
    yield await readDocument(unpdf, bytes, file.path);
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

async function readDocument(
  unpdf: typeof import("unpdf"),
  bytes: Uint8Array,
  path: string,
): Promise<Document> {
  const pdf = await unpdf.getDocumentProxy(bytes, { verbosity: 0 }).catch((error: unknown) => {
    throw damaged(path, error);
  });
  try {
    const info = await unpdf.getMeta(pdf).catch(() => undefined);
    const title: unknown = info?.info.Title;
    const blocks: Block[] = [];
    for (let page = 1; page <= pdf.numPages; page++)
      blocks.push(...paragraphs(await pageText(pdf, page, path), page));
    return { title: typeof title === "string" ? title : "", blocks };
  } finally {
    await pdf.loadingTask.destroy();
  }
}

type Pdf = Awaited<ReturnType<typeof import("unpdf").getDocumentProxy>>;

/** The lines of a page. A gap of more than one line ends a paragraph. */
async function pageText(pdf: Pdf, number: number, where: string): Promise<string> {
  try {
    const page = await pdf.getPage(number);
    const { items } = await page.getTextContent();
    let text = "";
    let last: number | undefined; // the height of the last text on the page
    for (const item of items) {
      if (!("str" in item)) continue;
      const [y, height] = [item.transform[5] as number, item.height];
      const gap = last === undefined ? 0 : last - y;
      if (text.endsWith("\n") && height > 0 && gap > 1.7 * height) text += "\n";
      text += item.str + (item.hasEOL ? "\n" : "");
      if (item.str.trim() !== "") last = y;
    }
    page.cleanup();
    return text;
  } catch (error) {
    throw damaged(`${where}, page ${number}`, error);
  }
}

/** Paragraphs of a page. A word that is divided at the end of a line is joined. */
const paragraphs = (text: string, page: number): Block[] =>
  text
    .replace(/(?<=\p{Ll})-\n(?=\p{Ll})/gu, "")
    .split(/\n{2,}/)
    .filter((paragraph) => paragraph.trim() !== "")
    .map((paragraph) => ({ text: paragraph.trim(), headings: [], page }));

async function load(where: string): Promise<typeof import("unpdf")> {
  try {
    return await import(PACKAGE);
  } catch (cause) {
    throw new InputError(
      {
        where,
        expected: `the package ${PACKAGE}, which reads PDF`,
        got: `none that Node ${process.versions.node} can load`,
        remedy: `install it (npm install ${PACKAGE}; it asks for Node 22), or convert the file to text`,
      },
      { cause },
    );
  }
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
