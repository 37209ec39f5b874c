/**
 * Word documents (.docx). Their paragraphs, lists and tables become elements of HTML.
 *
 * Source: ECMA-376, part 1, 17 (WordprocessingML).
 */

import type { SourceFile } from "../file/source-file.ts";
import type { Container } from "../office/container.ts";
import { withContainer } from "../office/container.ts";
import {
  mainPart,
  partsOf,
  relatedPart,
  relationshipsOf,
  titleProperty,
} from "../office/office.ts";
import { WordBody } from "../office/word/body.ts";
import { Numbering } from "../office/word/numbering.ts";
import { Styles } from "../office/word/styles.ts";
import type { Document } from "../tree/document.ts";
import { addElements } from "../tree/html-tree.ts";
import { first } from "../tree/markup.ts";
import { Outline } from "../tree/outline.ts";

export async function* read(file: SourceFile): AsyncGenerator<Document> {
  yield* withContainer(file, "a Word document (.docx)", (container) =>
    wordDocument(container, file),
  );
}

async function* wordDocument(container: Container, file: SourceFile): AsyncGenerator<Document> {
  const main = await mainPart(container);
  const relationships = await relationshipsOf(container, main);
  const part = (type: string) => relatedPart(container, relationships, type);
  const styles = new Styles(await part("styles"));
  const body = new WordBody({
    styles,
    numbering: new Numbering(await part("numbering")),
    footnotes: await part("footnotes"),
    endnotes: await part("endnotes"),
    diagrams: await partsOf(container, relationships, "diagramData"),
    budget: file.budget,
  });
  const root = await container.xml(main);
  const content = root && first(root, "w:body");
  if (!content) return;
  const margins = await marginsOf(container, relationships, body.referencedMargins(content));
  for (const margin of margins) body.add(margin, "header");
  body.add(content);
  body.leftOut.report(file);
  const outline = new Outline();
  addElements(body.nodes, outline, file.budget);
  yield outline.document(body.title ?? (await titleProperty(container)));
}

/** Headers and footers that are not on every page. */
async function marginsOf(
  container: Container,
  relationships: Awaited<ReturnType<typeof relationshipsOf>>,
  ids: readonly string[],
) {
  const targets = ids.flatMap((id) => relationships.find((one) => one.id === id)?.target ?? []);
  const roots = await Promise.all([...new Set(targets)].map((target) => container.xml(target)));
  return roots.filter((root) => root !== undefined);
}
