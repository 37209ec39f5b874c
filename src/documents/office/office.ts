/**
 * What Word, PowerPoint and Excel files have in common.
 *
 * Source: ECMA-376, part 2 (relationships, core properties).
 */

import { usefulTitle } from "../file/title.ts";
import { type Element, find, first, textContent } from "../tree/markup.ts";
import { type Container, Damage, resolvePart } from "./container.ts";

export interface Relationship {
  readonly id: string;
  /** The last part of its name: `styles`. */
  readonly type: string;
  /** The name of the part that it leads to. */
  readonly target: string;
}

/** The parts that a part refers to. Those outside of the file are left out. */
export async function relationshipsOf(container: Container, part: string): Promise<Relationship[]> {
  const slash = part.lastIndexOf("/") + 1;
  const root = await container.xml(`${part.slice(0, slash)}_rels/${part.slice(slash)}.rels`);
  if (!root) return [];
  return [...find(root, "Relationship")]
    .filter(({ attributes }) => attributes.TargetMode !== "External")
    .map(({ attributes: { Id: id = "", Type: type = "", Target: target = "" } }) => ({
      id,
      type: type.slice(type.lastIndexOf("/") + 1),
      target: resolvePart(part, target),
    }));
}

/** The part that a relationship of this type leads to; undefined if there is none. */
export async function relatedPart(
  container: Container,
  relationships: readonly Relationship[],
  type: string,
): Promise<Element | undefined> {
  const target = relationships.find((one) => one.type === type)?.target;
  return target === undefined ? undefined : container.xml(target);
}

/** All parts that relationships of this type lead to, by their ids. */
export async function partsOf(
  container: Container,
  relationships: readonly Relationship[],
  type: string,
): Promise<Map<string, Element>> {
  const parts = new Map<string, Element>();
  for (const { id, target } of relationships.filter((one) => one.type === type)) {
    const part = await container.xml(target);
    if (part) parts.set(id, part);
  }
  return parts;
}

/** A value of the type ST_OnOff. */
export const isTrue = (value: string | undefined): boolean => value === "1" || value === "true";

/** The name of the part with the text. @throws {Damage} if the file has none */
export async function mainPart(container: Container): Promise<string> {
  const relationships = await relationshipsOf(container, "");
  const main = relationships.find(({ type }) => type === "officeDocument")?.target;
  if (main !== undefined && container.names.includes(main)) return main;
  throw new Damage("no main part");
}

/** The title property; undefined if it says nothing. */
export async function titleProperty(container: Container): Promise<string | undefined> {
  const relationships = await relationshipsOf(container, "");
  const part = relationships.find(({ type }) => type === "core-properties")?.target;
  const root = await container.xml(part ?? "docProps/core.xml");
  const title = root && first(root, "dc:title");
  return title && usefulTitle(textContent(title));
}
