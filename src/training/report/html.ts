/** HTML templates that escape their values. */

export interface Html {
  readonly markup: string;
}

type Part = string | number | Html | undefined | readonly Part[];

/** A template tag. Escapes values unless they are `Html`, joins lists, and omits `undefined`. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return { markup: strings.map((text, i) => text + markupOf(parts[i])).join("") };
}

/** Marks text as markup. Never use it for text of a run. */
export const raw = (markup: string): Html => ({ markup });

function markupOf(part: Part): string {
  if (part === undefined) return "";
  if (typeof part === "string" || typeof part === "number") return escapeText(String(part));
  return "markup" in part ? part.markup : part.map(markupOf).join("");
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

const escapeText = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => ENTITIES[character]!);
