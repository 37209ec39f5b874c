/** The paragraph styles of a Word document: titles, headings and numbered paragraphs. */

import { childrenOf, type Element, find } from "../../tree/markup.ts";

/** The list that a paragraph belongs to. */
export interface ListPlace {
  readonly list: string;
  readonly level: number;
}

export interface ParagraphStyle {
  /** Its name in English, in lower case: `heading 1`. */
  readonly name: string;
  /** 1 for the outermost heading, 0 for text. */
  readonly headingLevel: number;
  readonly list: ListPlace | undefined;
  /** Whether its text is hidden. */
  readonly isHidden: boolean;
}

interface StoredStyle {
  readonly name: string;
  readonly basedOn: string | undefined;
  readonly outline: number | undefined;
  readonly list: Partial<ListPlace> | undefined;
  readonly isHidden: boolean | undefined;
  readonly script: Script | undefined;
}

/** Raised or lowered text; empty for other text. */
export type Script = "sup" | "sub" | "";

/** Half points by which text is raised, or lowered, that is an exponent, or an index. */
const MIN_POSITION = 4;

/** Whether the properties of characters raise or lower them; undefined if they do not say. */
export function scriptOf(properties: Element): Script | undefined {
  const align = attributeOf(properties, "w:vertAlign");
  if (align !== undefined) return SCRIPTS[align] ?? "";
  const position = Number.parseInt(attributeOf(properties, "w:position") ?? "", 10);
  if (Number.isNaN(position)) return undefined;
  return position >= MIN_POSITION ? "sup" : position <= -MIN_POSITION ? "sub" : "";
}

const SCRIPTS: Readonly<Record<string, Script>> = { superscript: "sup", subscript: "sub" };

/** Styles are based on others; a circle of them ends here. */
const MAX_BASES = 20;

export class Styles {
  readonly #styles = new Map<string, StoredStyle>();

  constructor(root: Element | undefined) {
    for (const style of root ? find(root, "w:style") : []) {
      const properties = childrenOf(style, "w:pPr")[0];
      const characters = childrenOf(style, "w:rPr")[0];
      this.#styles.set(style.attributes["w:styleId"] ?? "", {
        name: (attributeOf(style, "w:name") ?? "").toLowerCase(),
        basedOn: attributeOf(style, "w:basedOn"),
        outline: properties && outlineOf(properties),
        list: properties && listOf(properties),
        isHidden: characters && onOff(characters, "w:vanish"),
        script: characters && scriptOf(characters),
      });
    }
  }

  /** The style of a paragraph with these properties. */
  of(properties: Element | undefined): ParagraphStyle {
    const id = properties && attributeOf(properties, "w:pStyle");
    const chain = this.#chain(id);
    const name = chain[0]?.name || (id ?? "").toLowerCase();
    const own = properties && listOf(properties);
    const list = [own, ...chain.map((style) => style.list)].find((one) => one?.list !== undefined);
    const level = own?.level ?? list?.level ?? 0;
    return {
      name,
      headingLevel: this.#headingLevel(properties, name, chain),
      list: list?.list === undefined || list.list === "0" ? undefined : { list: list.list, level },
      isHidden: this.hides(id) ?? false,
    };
  }

  /** Whether a style hides its text; undefined for one that does not say. */
  hides(id: string | undefined): boolean | undefined {
    return this.#chain(id).find(({ isHidden }) => isHidden !== undefined)?.isHidden;
  }

  /** Whether a style raises or lowers its text; undefined for one that does not say. */
  script(id: string | undefined): Script | undefined {
    return this.#chain(id).find(({ script }) => script !== undefined)?.script;
  }

  #chain(id: string | undefined): StoredStyle[] {
    const chain: StoredStyle[] = [];
    for (let next = id; next !== undefined && chain.length < MAX_BASES; ) {
      const style = this.#styles.get(next);
      if (!style) break;
      chain.push(style);
      next = style.basedOn;
    }
    return chain;
  }

  #headingLevel(
    properties: Element | undefined,
    name: string,
    chain: readonly StoredStyle[],
  ): number {
    const named = [name, ...chain.map((style) => style.name)]
      .map((one) => /^heading ?([1-9])$/.exec(one)?.[1])
      .find((level) => level !== undefined);
    if (named !== undefined) return Math.min(6, Number(named));
    const outline =
      (properties && outlineOf(properties)) ??
      chain.map((style) => style.outline).find((level) => level !== undefined);
    return outline === undefined || outline > 5 ? 0 : outline + 1;
  }
}

function outlineOf(properties: Element): number | undefined {
  const level = Number.parseInt(attributeOf(properties, "w:outlineLvl") ?? "", 10);
  return Number.isNaN(level) ? undefined : level;
}

function listOf(properties: Element): Partial<ListPlace> | undefined {
  const [numbers] = childrenOf(properties, "w:numPr");
  if (!numbers) return undefined;
  const [list, level] = [attributeOf(numbers, "w:numId"), attributeOf(numbers, "w:ilvl")];
  return {
    ...(list !== undefined && { list }),
    ...(level !== undefined && {
      level: Math.min(8, Math.max(0, Number.parseInt(level, 10) || 0)),
    }),
  };
}

/** The attribute `w:val` of a child. */
export const attributeOf = (element: Element, name: string): string | undefined =>
  childrenOf(element, name)[0]?.attributes["w:val"];

/** A property that is on or off; undefined if it is not given. */
export function onOff(properties: Element, name: string): boolean | undefined {
  const [given] = childrenOf(properties, name);
  return given && !/^(?:0|false|off)$/.test(given.attributes["w:val"] ?? "");
}
