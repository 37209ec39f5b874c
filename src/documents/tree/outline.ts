/** Collects the blocks of a document under their headings. */

import type { Block, Document, LineMark, Place } from "./document.ts";

/** A longer heading is a paragraph. */
const MAX_HEADING_LENGTH = 200; // characters

/** What a text is and where it stands. */
export type BlockDetails = Omit<Block, "text" | "headings">;

interface OpenHeading {
  readonly level: number;
  readonly text: string;
  readonly details: BlockDetails;
  /** Whether a block has been added below it. */
  isUsed: boolean;
}

/**
 * Receives headings and texts in their order. Nothing is lost: a heading without text below it
 * becomes a block.
 */
export class Outline {
  readonly #blocks: Block[] = [];
  readonly #open: OpenHeading[] = [];
  readonly #topHeadings: string[] = [];

  /** @param level 1 for the outermost */
  heading(level: number, given: string, details: BlockDetails = {}): void {
    const text = given.replace(/\s+/gu, " ").trim();
    if (text === "") return;
    if (text.length > MAX_HEADING_LENGTH) {
      this.text(text, details);
      return;
    }
    this.#close(level);
    if (level === 1) this.#topHeadings.push(text);
    this.#open.push({ level, text, details, isUsed: false });
  }

  text(given: string, details: BlockDetails = {}): void {
    const text = given.trimEnd();
    if (text.trim() === "") return;
    for (const heading of this.#open) heading.isUsed = true;
    this.#blocks.push({ text, headings: this.#open.map((heading) => heading.text), ...details });
  }

  /** Ends all headings: what follows is below none of them. */
  endSection(): void {
    this.#close(1);
  }

  /** Adds the blocks of another outline below the open headings. */
  blocks(blocks: Iterable<Block>, place?: Place): void {
    for (const { text, headings, ...details } of blocks) {
      for (const heading of this.#open) heading.isUsed = true;
      const above = this.#open.map((heading) => heading.text);
      const own = place ? { ...details, place } : details;
      this.#blocks.push({ text, headings: [...above, ...headings], ...own });
    }
  }

  /**
   * The document. Its title is `title`, or its only heading of level 1. The title is no heading of
   * the blocks.
   */
  document(title: string | undefined): Pick<Document, "title" | "blocks"> {
    const all = this.allBlocks();
    const [first, ...others] = new Set(this.#topHeadings);
    const chosen = title?.replace(/\s+/gu, " ").trim() || (others.length === 0 && first) || "";
    const blocks = all.map((block) =>
      block.headings[0] === chosen ? { ...block, headings: block.headings.slice(1) } : block,
    );
    return { title: chosen, blocks };
  }

  /** The blocks with all headings, for a document that this one is a part of. */
  allBlocks(): readonly Block[] {
    this.#close(1);
    return this.#blocks;
  }

  /** Ends the headings of this level and below. */
  #close(level: number): void {
    while ((this.#open.at(-1)?.level ?? 0) >= level) {
      const { text, details, isUsed } = this.#open.pop()!;
      if (!isUsed) this.text(text, details);
    }
  }
}

/** The marks of a text that stands on the lines from `first` on, as it is. */
export function* consecutiveLines(text: string, first: number): Generator<LineMark> {
  yield [0, first];
  let line = first;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1))
    yield [at + 1, ++line];
}
