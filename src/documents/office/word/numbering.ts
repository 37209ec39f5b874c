/** The numbers of lists and headings: `3.2.`, `(a)`, `-`. Source: ECMA-376, part 1, 17.9. */

import { roman } from "../../tree/html-blocks.ts";
import { childrenOf, type Element, find } from "../../tree/markup.ts";
import type { ListPlace } from "./styles.ts";
import { attributeOf, onOff } from "./styles.ts";

interface Level {
  readonly format: string;
  /** `%1.%2.`, where %1 is the number of the first level. */
  readonly text: string;
  readonly start: number;
  /** Whether the numbers of all levels are decimal: `1.1` below `I.`. */
  readonly isDecimal: boolean;
}

interface List {
  /** Lists of the same kind count on. */
  readonly kind: string;
  readonly starts: ReadonlyMap<number, number>;
}

export class Numbering {
  readonly #levels = new Map<string, ReadonlyMap<number, Level>>();
  readonly #lists = new Map<string, List>();
  readonly #counts = new Map<string, number[]>();
  /** The lists whose own starts have been used. */
  readonly #begun = new Set<string>();

  constructor(root: Element | undefined) {
    if (!root) return;
    for (const kind of find(root, "w:abstractNum"))
      this.#levels.set(kind.attributes["w:abstractNumId"] ?? "", levelsOf(kind));
    for (const list of find(root, "w:num")) {
      const starts = childrenOf(list, "w:lvlOverride").flatMap((level): [number, number][] => {
        const start = attributeOf(level, "w:startOverride");
        return start === undefined ? [] : [[levelOf(level), Number.parseInt(start, 10) || 0]];
      });
      this.#lists.set(list.attributes["w:numId"] ?? "", {
        kind: attributeOf(list, "w:abstractNumId") ?? "",
        starts: new Map(starts),
      });
    }
  }

  /** The mark of the next paragraph of a list: `-` for a bullet, empty for none. */
  next({ list: id, level }: ListPlace): string {
    const list = this.#lists.get(id);
    const levels = list && this.#levels.get(list.kind);
    const own = levels?.get(level);
    if (!list || !levels || !own) return "-";
    const counts = this.#counts.get(list.kind) ?? [];
    this.#counts.set(list.kind, counts);
    const start = list.starts.get(level);
    const key = `${id} ${level}`;
    if (start !== undefined && !this.#begun.has(key)) counts[level] = start;
    else counts[level] = (counts[level] ?? own.start - 1) + 1;
    this.#begun.add(key);
    counts.length = level + 1; // levels below start again
    if (own.format === "bullet") return "-";
    if (own.format === "none") return "";
    return own.text.replace(/%([1-9])/g, (_, digit: string) => {
      const above = Number(digit) - 1;
      const { format = "decimal", start: first = 1 } = levels.get(above) ?? {};
      return written(counts[above] ?? first, own.isDecimal ? "decimal" : format);
    });
  }
}

function levelsOf(kind: Element): Map<number, Level> {
  return new Map(
    childrenOf(kind, "w:lvl").map((level) => [
      levelOf(level),
      {
        format: attributeOf(level, "w:numFmt") ?? "decimal",
        text: attributeOf(level, "w:lvlText") ?? "",
        start: Number.parseInt(attributeOf(level, "w:start") ?? "1", 10) || 0,
        isDecimal: onOff(level, "w:isLgl") ?? false,
      },
    ]),
  );
}

const levelOf = (element: Element): number =>
  Number.parseInt(element.attributes["w:ilvl"] ?? "0", 10) || 0;

/** Source: ECMA-376, part 1, 17.18.59. After Z comes AA, then BB. */
function written(number: number, format: string): string {
  const letter = (first: string): string =>
    number < 1 || number > 780
      ? `${number}`
      : String.fromCharCode(first.charCodeAt(0) + ((number - 1) % 26)).repeat(
          Math.ceil(number / 26),
        );
  switch (format) {
    case "lowerLetter":
      return letter("a");
    case "upperLetter":
      return letter("A");
    case "lowerRoman":
      return roman(number).toLowerCase();
    case "upperRoman":
      return roman(number);
    case "decimalZero":
      return String(number).padStart(2, "0");
    case "ordinal":
      return `${number}${ORDINALS.get(ENGLISH.select(number)) ?? "th"}`;
    default:
      return String(number);
  }
}

const ENGLISH = new Intl.PluralRules("en", { type: "ordinal" });
const ORDINALS = new Map([
  ["one", "st"],
  ["two", "nd"],
  ["few", "rd"],
]);
