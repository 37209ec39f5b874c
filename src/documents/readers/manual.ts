/**
 * Manual pages: sections, terms with their definitions, lists, tables and code. A file with the
 * ending of one that is none is plain text.
 *
 * Source: man(7), mdoc(7), groff(7).
 */

import { basename } from "node:path";
import type { SourceFile } from "../file/source-file.ts";
import type { Document } from "../tree/document.ts";
import { addElements } from "../tree/html-tree.ts";
import { Outline } from "../tree/outline.ts";
import { Layout } from "./manual/layout.ts";
import { ManPage } from "./manual/man.ts";
import { MdocPage } from "./manual/mdoc.ts";
import { Roff } from "./manual/roff.ts";
import { textDocument } from "./text.ts";

const MAN = /^[.'][ \t]*(?:TH|SH|so)[ \t]/m;
const MDOC = /^\.[ \t]*(?:Dd|Dt|Sh)[ \t]/m;

export async function* read(file: SourceFile): AsyncGenerator<Document> {
  const source = await file.text();
  const isMdoc = MDOC.test(source);
  if (isMdoc || MAN.test(source)) yield await manualPage(source, isMdoc, file);
  else yield textDocument(source);
}

async function manualPage(source: string, isMdoc: boolean, file: SourceFile): Promise<Document> {
  const Page = isMdoc ? MdocPage : ManPage;
  const roff = new Roff(source, file.budget, Page.isBuiltIn);
  const layout = new Layout();
  const page = new Page(roff, layout);
  for (const line of roff.lines()) {
    page.add(line);
    await file.budget.pause();
  }
  layout.endParagraph();
  const outline = new Outline();
  for (const { level, title, line, nodes } of layout.sections) {
    if (level > 0) outline.heading(level, title, { lines: [[0, line]] });
    addElements(nodes, outline, file.budget);
  }
  return { title: titleOf(page.title, file.name), blocks: outline.allBlocks() };
}

/** `GIT-ADD(1)` in a file `git-add.1.gz` is `git-add(1)`. */
function titleOf(given: string, name: string): string {
  const [, plain = ""] = /^(.*?)\.\d\w*(?:\.gz)?$/i.exec(basename(name)) ?? [];
  const isSame = plain !== "" && given.toLowerCase().startsWith(`${plain.toLowerCase()}(`);
  return isSame ? plain + given.slice(plain.length) : given;
}
