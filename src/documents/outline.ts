/** Collects the blocks of a document under their headings. */

import type { Block, Document } from "./document.ts";

/** A longer heading is a paragraph. */
const MAX_HEADING_LENGTH = 200; // characters

type Place = Pick<Block, "lines" | "page">;

interface OpenHeading {
  readonly level: number;
  readonly text: string;
  readonly place: Place;
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
  heading(level: number, given: string, place: Place = {}): void {
    const text = given.replace(/\s+/gu, " ").trim();
    if (text === "") return;
    if (text.length > MAX_HEADING_LENGTH) {
      this.text(text, place);
      return;
    }
    this.#close(level);
    if (level === 1) this.#topHeadings.push(text);
    this.#open.push({ level, text, place, isUsed: false });
  }

  text(given: string, place: Place = {}): void {
    const text = given.trimEnd();
    if (text.trim() === "") return;
    for (const heading of this.#open) heading.isUsed = true;
    this.#blocks.push({ text, headings: this.#open.map((heading) => heading.text), ...place });
  }

  /**
   * The document. Its title is `title`, or its only heading of level 1. The title is no heading of
   * the blocks.
   */
  document(title: string | undefined): Pick<Document, "title" | "blocks"> {
    this.#close(1);
    const [first, ...others] = new Set(this.#topHeadings);
    const chosen = title?.replace(/\s+/gu, " ").trim() || (others.length === 0 && first) || "";
    const blocks = this.#blocks.map((block) =>
      block.headings[0] === chosen ? { ...block, headings: block.headings.slice(1) } : block,
    );
    return { title: chosen, blocks };
  }

  /** Ends the headings of this level and below. */
  #close(level: number): void {
    while ((this.#open.at(-1)?.level ?? 0) >= level) {
      const { text, place, isUsed } = this.#open.pop()!;
      if (!isUsed) this.text(text, place);
    }
  }
}
