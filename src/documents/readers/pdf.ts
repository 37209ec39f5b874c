/** PDF, read with the optional package `pdfjs-dist`, the PDF reader of Firefox. */

import { InputError } from "../../io/errors.ts";
import type { SourceFile } from "../file/source-file.ts";
import { usefulTitle } from "../file/title.ts";
import { largestLine, pageBlocks } from "../pdf/page.ts";
import { PdfThread } from "../pdf/thread.ts";
import type { Block, Document } from "../tree/document.ts";

export async function* read(file: SourceFile): AsyncGenerator<Document> {
  const bytes = new Uint8Array(await file.bytes());
  await using thread = new PdfThread(file);
  const { pages, title } = await thread.open(bytes);
  const blocks: Block[] = [];
  const lost = new Map<number, number>();
  let heading: string | undefined;
  for (let number = 1; number <= pages; number++) {
    const page = await thread.page(number);
    heading ??= number === 1 ? largestLine(page) : undefined;
    if (page.lost > 0) lost.set(number, page.lost);
    for (const block of pageBlocks(page, number)) {
      file.budget.spend("characters", block.text.length);
      blocks.push(block);
    }
    await file.budget.pause();
  }
  if (lost.size > 0) file.report(withoutMap(file.path, lost));
  yield { title: usefulTitle(title ?? "") ?? heading ?? "", blocks };
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
