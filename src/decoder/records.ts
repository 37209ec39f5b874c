/**
 * The records of a passage that a question names. Each row of a table and each item of a list is
 * about something else, and a small reader often quotes the one beside the right one. So where some
 * rows have more terms of the question than others, or some items more of its names and numbers,
 * the others are not quoted.
 */

import { blocksOf, type TextBlock } from "../text/blocks.ts";
import type { PassageInput } from "../text/passage.ts";
import { segmentsOf } from "../text/shown-blocks.ts";
import type { Span } from "../text/span.ts";
import { missingSpecifics, missingTerms, type Specific } from "./support.ts";

/** What a question asks about (support.ts). */
export interface Asked {
  readonly terms: readonly string[];
  readonly specifics: readonly Specific[];
}

/** The records of a passage that a question does not mean. */
export function otherRecords(
  asked: Asked,
  passage: Pick<PassageInput, "text" | "metadata">,
): Span[] {
  const { text } = passage;
  return blocksOf(passage).flatMap((block) => {
    const records = recordsOf(text, block);
    const counts = records.map(({ start, end }) => matches(asked, block, text.slice(start, end)));
    const most = Math.max(...counts);
    return records.filter((_, i) => counts[i]! < most);
  });
}

/** The items of a list; the rows of a table but for the first, which can name the columns. */
function recordsOf(text: string, block: TextBlock): Span[] {
  if (block.kind === "list") return segmentsOf(text, block);
  return block.kind === "table" ? segmentsOf(text, block).slice(1) : [];
}

function matches({ terms, specifics }: Asked, { kind }: TextBlock, text: string): number {
  return kind === "table"
    ? terms.length - missingTerms(terms, [{ text }]).length
    : specifics.length - missingSpecifics(specifics, [{ text }]).length;
}
