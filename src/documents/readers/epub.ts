/** Electronic books (.epub): the chapters in their order. Source: EPUB 3.3, sections 4 and 5. */

import { InputError } from "../../io/errors.ts";
import type { SourceFile } from "../file/source-file.ts";
import { usefulTitle } from "../file/title.ts";
import { type Container, Damage, resolvePart, withContainer } from "../office/container.ts";
import type { Document } from "../tree/document.ts";
import { addElements } from "../tree/html-tree.ts";
import { find, first, parseXhtml, textContent } from "../tree/markup.ts";
import { Outline } from "../tree/outline.ts";

export async function* read(file: SourceFile): AsyncGenerator<Document> {
  yield* withContainer(file, "an electronic book (.epub)", (container) => book(container, file));
}

async function* book(container: Container, file: SourceFile): AsyncGenerator<Document> {
  const root = await container.xml("META-INF/container.xml");
  const path = root && first(root, "rootfile")?.attributes["full-path"];
  const book = path === undefined ? undefined : await container.xml(path);
  if (path === undefined || !book) throw new Damage("no list of its chapters");
  const items = new Map(
    [...find(book, "item")].map(({ attributes }) => [attributes.id, attributes]),
  );
  const locked = await encryptedParts(container);
  const outline = new Outline();
  let chapter = 0;
  for (const { attributes } of find(book, "itemref")) {
    const item = items.get(attributes.idref);
    if (!item || !/html/.test(item["media-type"] ?? "") || /\bnav\b/.test(item.properties ?? ""))
      continue;
    const part = resolvePart(path, decodeURIComponentSafe(item.href ?? ""));
    if (locked.has(part)) throw encrypted(file.path);
    if (!container.names.includes(part)) continue;
    const own = new Outline();
    const source = file.decode(await container.bytes(part));
    const root = await parseXhtml(source, file.budget, () => 0);
    addElements(root.children, own, file.budget);
    outline.blocks(own.allBlocks(), { chapter: ++chapter });
  }
  const title = first(book, "dc:title");
  yield outline.document(title && usefulTitle(textContent(title)));
}

function decodeURIComponentSafe(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** Fonts are often encrypted, chapters only if the book is protected. */
async function encryptedParts(container: Container): Promise<Set<string | undefined>> {
  const root = await container.xml("META-INF/encryption.xml");
  const references = root ? [...find(root, "CipherReference", "enc:CipherReference")] : [];
  return new Set(references.map(({ attributes }) => attributes.URI));
}

const encrypted = (where: string): InputError =>
  new InputError({
    where,
    expected: "a book that is not encrypted",
    got: "one with protected chapters",
    remedy: "use a copy without protection",
  });
