/**
 * The numbers of lists and headings of OpenDocument: `3.2.`, `a)`, `-`.
 *
 * Source: OASIS OpenDocument 1.3, part 3, 16.30 (list styles), 19.880 (start values).
 */

import { listNumber } from "../tree/html-blocks.ts";
import { childrenOf, type Element, find } from "../tree/markup.ts";

interface Level {
  /** `1`, `a`, `A`, `i`, `I`; empty for none. */
  readonly format: string;
  readonly prefix: string;
  readonly suffix: string;
  readonly start: number;
  /** How many levels the number shows: 2 for `3.2`. */
  readonly shown: number;
}

type Style = ReadonlyMap<number, Level>;

interface OpenList {
  readonly style: string;
  readonly counts: (number | undefined)[];
}

export class ListNumbers {
  readonly #styles = new Map<string, Style>();
  #outline: Style = new Map();
  readonly #headings: (number | undefined)[] = [];
  readonly #open: OpenList[] = [];
  /** The numbers of the last list of a style, and of the lists with an id. */
  readonly #last = new Map<string, OpenList["counts"]>();

  constructor(roots: readonly Element[]) {
    for (const root of roots) {
      for (const style of find(root, "text:list-style"))
        this.#styles.set(style.attributes["style:name"] ?? "", levelsOf(style));
      for (const style of find(root, "text:outline-style")) this.#outline = levelsOf(style);
    }
  }

  /** Begins a list. One inside of another has its style, and numbers of the next level. */
  open({ attributes }: Element): void {
    const outer = this.#open.at(-1);
    const style = attributes["text:style-name"] ?? outer?.style ?? "";
    const continued =
      attributes["text:continue-list"] ??
      (attributes["text:continue-numbering"] === "true" ? style : undefined);
    const counts = outer?.counts ?? this.#last.get(continued ?? "") ?? [];
    for (const name of [style, attributes["xml:id"]])
      if (!outer && name !== undefined) this.#last.set(name, counts);
    this.#open.push({ style, counts });
  }

  close(): void {
    this.#open.pop();
  }

  /** The mark of the next item: `-` for a bullet, empty for the head of a list. */
  next(item: Element): string {
    const level = this.#open.length;
    const { style, counts } = this.#open.at(-1)!;
    if (item.name !== "text:list-item") return "";
    return numberAt(this.#styles.get(style), counts, level, item.attributes["text:start-value"]);
  }

  /** The number of a heading; empty for none. */
  heading({ attributes }: Element, level: number): string {
    if (attributes["text:is-list-header"] === "true" || !this.#outline.get(level)?.format)
      return "";
    return numberAt(this.#outline, this.#headings, level, attributes["text:start-value"]);
  }
}

function numberAt(
  style: Style | undefined,
  counts: (number | undefined)[],
  level: number,
  given: string | undefined,
): string {
  const own = style?.get(level);
  if (!style || !own) return "-";
  const start = given === undefined ? own.start : Number.parseInt(given, 10) || 0;
  const before = given === undefined ? counts[level] : undefined;
  counts[level] = before === undefined ? start : before + 1;
  counts.length = level + 1; // levels below start again
  if (own.format === "") return own.prefix + own.suffix || "-";
  const numbers: string[] = [];
  for (let at = Math.max(1, level - own.shown + 1); at <= level; at++) {
    const { format = "", start: first = 1 } = style.get(at) ?? {};
    if (format !== "") numbers.push(listNumber(counts[at] ?? first, format));
  }
  return own.prefix + numbers.join(".") + own.suffix;
}

function levelsOf(style: Element): Map<number, Level> {
  const numbered = childrenOf(style).filter(
    ({ name, attributes }) =>
      /^text:(?:list-level-style-number|outline-level-style)$/.test(name) &&
      /^(?:[1-9]|10)$/.test(attributes["text:level"] ?? ""),
  );
  return new Map(
    numbered.map(({ attributes }) => [
      numberOf(attributes["text:level"]),
      {
        format: attributes["style:num-format"] ?? "",
        prefix: attributes["style:num-prefix"] ?? "",
        suffix: attributes["style:num-suffix"] ?? "",
        start: numberOf(attributes["text:start-value"]),
        shown: numberOf(attributes["text:display-levels"]),
      },
    ]),
  );
}

const numberOf = (given = "1"): number => Number.parseInt(given, 10) || 0;
