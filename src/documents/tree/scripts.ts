/**
 * Superscripts, subscripts and formulas as plain text.
 *
 * An exponent is written `10^6`: the tokenizer of T5 normalises `10⁶` to `106`.
 */

import { childrenOf, type Element, isText, textContent } from "./markup.ts";

/** `st` of `1st`, `me` of `Mme`, `TM`: letters that belong to the word before them. */
const LETTERS = /^[\p{L}.™®©]{1,4}$/u;

/** What a superscript adds to the text before it: `^6`, `^(n + 1)`, `th`. */
export function superscript(text: string, before: string): string {
  if (text === "" || before === "" || /\s$/u.test(before)) return text;
  if (LETTERS.test(text) && (text.length > 1 || /\p{L}$/u.test(before))) return text;
  return `^${grouped(text)}`;
}

/** What a subscript adds to the text before it: `2` of `H2O`, `_2` after a number. */
export function subscript(text: string, before: string): string {
  if (text === "" || before === "" || /\s$/u.test(before)) return text;
  return /\p{L}$/u.test(before) && /^[\d.,+-]+$/.test(text) ? text : `_${grouped(text)}`;
}

/** A part of a text that is a superscript, a subscript or neither. */
export interface TextRun {
  readonly text: string;
  readonly script?: "sup" | "sub" | "" | undefined;
}

export function withScripts(runs: readonly TextRun[]): string {
  const written: string[] = [];
  let before = ""; // that of the string would take time in proportion to the string
  for (const { text, script } of runs) {
    const write = script === "sup" ? superscript : script === "sub" ? subscript : undefined;
    const part = write ? write(text, before) : text;
    written.push(part);
    before = part.slice(-1) || before;
  }
  return written.join("");
}

const grouped = (text: string): string =>
  /^[-−+]?[\p{L}\p{N}.,]+$/u.test(text) ? text : `(${text})`;

const fraction = (above: string, below: string): string => `${grouped(above)}/${grouped(below)}`;

type Write = (parts: readonly string[], element: Element) => string;

/** MathML: how the texts of the children of an element are written. */
const MATHML: Readonly<Record<string, Write>> = {
  msup: ([base = "", exponent = ""]) => base + superscript(exponent, base),
  msub: ([base = "", index = ""]) => `${base}_${grouped(index)}`,
  msubsup: ([base = "", index = "", exponent = ""]) =>
    `${base}_${grouped(index)}^${grouped(exponent)}`,
  munder: ([base = "", index = ""]) => `${base}_${grouped(index)}`,
  mover: ([base = "", above = ""]) => base + above,
  munderover: ([base = "", index = "", above = ""]) =>
    `${base}_${grouped(index)}^${grouped(above)}`,
  mfrac: ([above = "", below = ""]) => fraction(above, below),
  msqrt: (parts) => `√(${parts.join("")})`,
  mroot: ([base = "", index = ""]) => `root_${grouped(index)}(${base})`,
  mfenced: (parts, { attributes }) =>
    `${attributes.open ?? "("}${parts.join(", ")}${attributes.close ?? ")"}`,
  mtr: (parts) => parts.join(", "),
  mtable: (parts) => `[${parts.join("; ")}]`,
  // the first child is the formula, the others say the same in TeX
  semantics: ([formula = ""]) => formula,
  annotation: () => "",
  "annotation-xml": () => "",
};

/** Equations of Word (ECMA-376, part 1, 22.1). */
const OMML: Readonly<Record<string, Write>> = {
  "m:f": (_, element) => fraction(part(element, "m:num"), part(element, "m:den")),
  "m:sSup": (_, element) =>
    part(element, "m:e") + superscript(part(element, "m:sup"), part(element, "m:e")),
  "m:sSub": (_, element) => `${part(element, "m:e")}_${grouped(part(element, "m:sub"))}`,
  "m:sSubSup": (_, element) =>
    `${part(element, "m:e")}_${grouped(part(element, "m:sub"))}^${grouped(part(element, "m:sup"))}`,
  "m:rad": (_, element) => {
    const degree = part(element, "m:deg");
    return degree === ""
      ? `√(${part(element, "m:e")})`
      : `root_${grouped(degree)}(${part(element, "m:e")})`;
  },
  "m:nary": (_, element) => {
    const [below, above] = [part(element, "m:sub"), part(element, "m:sup")];
    const limits =
      (below && `_${grouped(below)}`) +
      (above && `^${grouped(above)}`) +
      (below || above ? " " : "");
    return (property(element, "m:naryPr", "m:chr") ?? "∫") + limits + part(element, "m:e");
  },
  "m:d": (_, element) => {
    const inner = childrenOf(element, "m:e").map((one) => formula(one));
    const mark = (name: string) => property(element, "m:dPr", name);
    return `${mark("m:begChr") ?? "("}${inner.join(mark("m:sepChr") ?? "|")}${mark("m:endChr") ?? ")"}`;
  },
  "m:func": (_, element) => `${part(element, "m:fName")} ${part(element, "m:e")}`,
  "m:limLow": (_, element) => `${part(element, "m:e")}_${grouped(part(element, "m:lim"))}`,
  "m:mr": (parts) => parts.join(", "),
  "m:m": (parts) => `[${parts.filter((row) => row !== "").join("; ")}]`,
};

const WRITE = new Map(Object.entries({ ...MATHML, ...OMML }));

/** A formula of MathML or of Word as one line: `E = mc^2`, `a/(b + c)`. */
export function formula(element: Element): string {
  if (/^(mi|mn|mo|mtext|ms|m:t)$/.test(element.name)) return symbol(element);
  if (/Pr$/.test(element.name)) return ""; // properties
  const parts = childrenOf(element).map((child) => formula(child));
  const own = WRITE.get(element.name)?.(parts, element);
  if (own !== undefined) return own;
  if (parts.length > 0) return inRow(parts);
  return element.children.some(isText) && !element.name.startsWith("m") ? textContent(element) : "";
}

/** Characters that `isSplit` looks at: `^` and 50 others, of two units each. */
const TAIL = 101;

function inRow(parts: readonly string[]): string {
  const row: string[] = [];
  let tail = "";
  for (const part of parts) {
    if (isSplit(tail, part)) row.push(" ");
    row.push(part);
    tail = (tail + part).slice(-TAIL);
  }
  return row.join("");
}

/** `c^2` and `d` are `c^2 d`; `2` and `1/3` are `2 1/3`. */
const isSplit = (before: string, after: string): boolean =>
  /^[\p{L}\p{N}]/u.test(after) &&
  (/[\^_][\p{L}\p{N}.]{1,50}$/u.test(before) ||
    (/[\p{L}\p{N}]$/u.test(before) && /^[^\s/]{1,100}\//.test(after)));

/** Relations have spaces around them. */
function symbol(element: Element): string {
  const text = textContent(element);
  if (element.name === "m:t") return text;
  const trimmed = text.trim();
  return element.name === "mo" && /^[=<>≤≥≠≈∈→⇒±+−-]$/u.test(trimmed) ? ` ${trimmed} ` : trimmed;
}

const part = (element: Element, name: string): string =>
  childrenOf(element, name)
    .map((one) => formula(one))
    .join("");

const property = (element: Element, group: string, name: string): string | undefined =>
  childrenOf(element, group).flatMap((one) => childrenOf(one, name))[0]?.attributes["m:val"];
