/** PDF, read with the optional package `pdfjs-dist`, the PDF reader of Firefox. */

import { InputError } from "../../io/errors.ts";
import type { SourceFile } from "../file/source-file.ts";
import { usefulTitle } from "../file/title.ts";
import { largestLine, type PageText } from "../pdf/page.ts";
import { outlineOf } from "../pdf/structure.ts";
import { PdfThread } from "../pdf/thread.ts";
import type { Document } from "../tree/document.ts";

export async function* read(file: SourceFile): AsyncGenerator<Document> {
  const bytes = new Uint8Array(await file.bytes());
  await using thread = new PdfThread(file);
  const { pages: count, title, bookmarks } = await thread.open(bytes);
  const pages: PageText[] = [];
  for (let number = 1; number <= count; number++) {
    pages.push(await thread.page(number));
    await file.budget.pause();
  }
  reportLost(pages, file);
  const outline = await outlineOf(pages, bookmarks, file.budget);
  const heading = pages[0] && largestLine(pages[0]);
  yield outline.document(usefulTitle(title ?? "") ?? heading);
}

/** Names pages without text, and characters without a meaning. */
function reportLost(pages: readonly PageText[], file: SourceFile): void {
  const lost = new Map<number, number>();
  const empty: number[] = [];
  for (const [i, page] of pages.entries()) {
    if (page.lost > 0) lost.set(i + 1, page.lost);
    else if (page.lines.every(({ text }) => text.trim() === "")) empty.push(i + 1);
  }
  if (lost.size > 0) file.report(withoutMap(file.path, lost), true);
  if (empty.length > 0 && empty.length < pages.length)
    file.report(emptyPages(file.path, empty), true);
}

/** `2 pages without text: 3, 7`, of at most ten pages. */
function emptyPages(where: string, pages: readonly number[]): InputError {
  const more = pages.length > 10 ? ", …" : "";
  return new InputError({
    where,
    expected: "text on each page",
    got: `${pages.length} without text: page ${pages.slice(0, 10).join(", ")}${more}`,
    remedy: "recognise the text of these pages (OCR) if they are scanned",
  });
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
