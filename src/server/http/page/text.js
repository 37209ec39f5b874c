/** Texts of passages as elements: paragraphs, tables, code, with marks. Text stays text nodes. */

import { element } from "./dom.js";

/** The line breaks of a paragraph with lines of a fixed width. Lists, tables and code keep theirs. */
const WRAPPED = /(?<=[^\n]{50})\n(?=[\p{L}("“‘`])/gu;
/** How a line of code looks, of whatever language; a line of prose rarely does. */
const CODE = new RegExp(
  [
    /^(?: {2,}|\t)\S/, // indented
    /[{}]$|[({[\\]$/, // ends as a statement
    /^\s*(?:\/\/|\/\*|#!|\$ |<\/?[a-z])|^\s+\*\/?(?: |$)/i, // a comment, a command, an element
    /^(?:npm|npx|yarn|pnpm|pip|git|curl|sudo|docker|cd|import|export|const|let|var|return|def) \S.*[^.]$/,
    /^[\w.$]+\(.*\)$/, // a call
    /=>|:=|==|&&|\|\|/,
  ]
    .map(({ source }) => source)
    .join("|"),
);
/** A statement that ends with a semicolon has one of these too. */
const PUNCTUATION = /[=()[\]{}"'<>]/;
const LIST_ITEM = /^\s*(?:[-•*]|\d+[.)]) \S/;
/** What begins an item. */
const MARKER = /^(\s*)(?:[-–•*]|(\d+)[.)])\s+(?=\S)/;
/** The letters of `_blocks` (src/text/block-kinds.ts) whose lines have a form; others are text. */
const KINDS = { l: "list", t: "table", c: "code" };

/**
 * @param marks parts of the text: `{ start, end, class }`
 * @param blocks what the text consists of, as `storedBlocks` returns it
 */
export function textElements(text, marks, blocks = blocksOf(text)) {
  return blocks.map(({ kind, start, end, lines }) => {
    if (kind === "table") return tableOf(text, lines, marks);
    if (kind === "code")
      return codeOf(highlighted(text, marks, start, end), text.slice(start, end));
    if (kind === "list") return listOf(text, lines, marks);
    const unwrapped = text.replace(WRAPPED, " "); // as long as before
    return element("p", {}, ...highlighted(unwrapped, marks, start, end));
  });
}

/**
 * The blocks that a passage stores: `p120 l340` is a paragraph up to 120 and a list up to 340.
 * Undefined if it stores none, so that its text shows them.
 *
 * @param text of the passage, or a part of it from `offset` on
 */
export function storedBlocks(text, metadata, offset = 0) {
  const field = metadata?._blocks;
  if (typeof field !== "string" || !/^(?:[a-z]\d+ ?)+$/.test(field)) return undefined;
  const blocks = [];
  let from = 0;
  for (const entry of field.trim().split(" ")) {
    const to = Math.min(Number(entry.slice(1)) - offset, text.length);
    if (to <= from) continue;
    const lines = [...paragraphsOf(text.slice(from, to), from)].flat();
    const kind = KINDS[entry[0]] ?? "text";
    if (lines.length > 0) blocks.push(blockOf(kind, lines));
    from = to;
  }
  return blocks.length > 0 ? blocks : undefined;
}

/** A list, with a line that begins no item as a part of the item above it. */
function listOf(text, lines, marks) {
  const items = [];
  for (const { start, end, text: line } of lines) {
    const [marker, indent, number] = MARKER.exec(line) ?? [];
    if (marker !== undefined || items.length === 0)
      items.push({ start: start + (marker?.length ?? 0), end, number, nested: indent?.length > 1 });
    else items.at(-1).end = end;
  }
  const name = items[0].number === undefined ? "ul" : "ol";
  return element(
    name,
    { class: "items" },
    ...items.map(({ start, end, number, nested }) => {
      const attributes = { ...(number && { value: number }), ...(nested && { class: "nested" }) };
      return element("li", attributes, ...highlighted(text, marks, start, end));
    }),
  );
}

/** Paragraphs, tables and code, divided by empty lines. Code may have empty lines inside. */
function blocksOf(text) {
  const blocks = [];
  for (const lines of paragraphsOf(text))
    for (const block of divided(lines)) {
      const last = blocks.at(-1);
      if (block.kind === "code" && last?.kind === "code") last.end = block.end;
      else blocks.push(block);
    }
  return blocks;
}

function* paragraphsOf(text, from = 0) {
  let lines = [];
  let start = from;
  for (const line of [...text.split("\n"), ""]) {
    if (line.trim() !== "") lines.push({ start, end: start + line.length, text: line });
    else if (lines.length > 0) {
      yield lines;
      lines = [];
    }
    start += line.length + 1;
  }
}

/** A paragraph whose lines have the same number of cells is a table; text may stand around it. */
function divided(lines) {
  const counts = lines.map((line) => cellsOf(line).length);
  const first = counts.findIndex((count, i) => count > 1 && counts[i + 1] === count);
  if (first === -1) return listed(lines);
  const size = counts.slice(first).findIndex((count) => count !== counts[first]);
  const after = size === -1 ? lines.length : first + size;
  const part = (from, to) => (from === to ? [] : [lines.slice(from, to)]);
  return [
    ...part(0, first).map((own) => blockOf("text", own)),
    blockOf("table", lines.slice(first, after)),
    ...part(after, lines.length).flatMap((own) => divided(own)),
  ];
}

/** Items of a list, and the lines above them; other lines are code or text. */
function listed(lines) {
  const first = lines.findIndex(({ text }) => LIST_ITEM.test(text));
  const items = first === -1 ? [] : lines.slice(first);
  if (items.length > 0 && items.every(({ text }) => LIST_ITEM.test(text))) {
    const above = lines.slice(0, first);
    return [...(above.length > 0 ? [blockOf("text", above)] : []), blockOf("list", items)];
  }
  return [blockOf(isCode(lines) ? "code" : "text", lines)];
}

const blockOf = (kind, lines) => ({ kind, start: lines[0].start, end: lines.at(-1).end, lines });

function isCode(lines) {
  if (lines.every(({ text }) => LIST_ITEM.test(text) && !text.startsWith(" "))) return false;
  const alike = lines.filter(({ text }) => CODE.test(text) || isStatement(text)).length;
  if (alike > 0 && alike >= lines.length / 2) return true;
  const isPhrase = lines.length === 1 && !/[-./=~_]/.test(lines[0].text);
  return !isPhrase && lines.every(({ text }) => isCommand(text));
}

const isStatement = (line) => line.endsWith(";") && PUNCTUATION.test(line);

/** A line such as `systemctl stop shop`: it begins in lower case and ends without a stop. */
const isCommand = (line) =>
  line.length < 100 && /^[a-z./~][\w./~-]*(?: \S+)+$/.test(line) && !/[.,:;!?…]$|, /.test(line);

/** The cells of a line `a | b` or `| a | b |`, with their places. */
function cellsOf({ text, start }) {
  const cells = [];
  let at = 0;
  for (const part of text.split("|")) {
    const trimmed = part.trim();
    const from = start + at + part.indexOf(trimmed);
    cells.push({ text: trimmed, start: from, end: from + trimmed.length });
    at += part.length + 1;
  }
  const isFramed = /^\s*\|.*\|\s*$/.test(text);
  return isFramed ? cells.slice(1, -1) : / \| /.test(text) ? cells : [];
}

/** Code, and a button that copies it where the browser lets a page do so. */
function codeOf(nodes, code) {
  const attributes = { role: "group", tabindex: "0", "aria-label": "Code" };
  const pre = element("pre", attributes, element("code", {}, ...nodes));
  if (!globalThis.navigator?.clipboard) return pre;
  const copy = element("button", { class: "quiet copy", type: "button" }, "Copy");
  copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText(code);
    copy.textContent = "Copied";
  });
  return element("div", { class: "code" }, pre, copy);
}

function tableOf(text, lines, marks) {
  const rows = lines
    .map((line) => cellsOf(line))
    .filter((cells) => !cells.every((cell) => /^:?-+:?$/.test(cell.text)));
  const row = (cells, name) =>
    element(
      "tr",
      {},
      ...cells.map(({ start, end }) => element(name, {}, ...highlighted(text, marks, start, end))),
    );
  const [head, ...body] = rows;
  return element(
    "div",
    { class: "table", role: "group", tabindex: "0", "aria-label": "Table" },
    element(
      "table",
      {},
      element("thead", {}, row(head, "th")),
      element("tbody", {}, ...body.map((cells) => row(cells, "td"))),
    ),
  );
}

/** A part of a text as nodes, with marks. Of marks that overlap, the last one is shown. */
export function highlighted(text, marks, from = 0, to = text.length) {
  const inside = marks.filter(({ start, end }) => start < to && end > from);
  const ends = inside.flatMap(({ start, end }) => [Math.max(start, from), Math.min(end, to)]);
  const cuts = [...new Set([from, to, ...ends])].sort((a, b) => a - b);
  return cuts.slice(1).map((end, i) => {
    const part = text.slice(cuts[i], end);
    const mark = inside.findLast((mark) => mark.start <= cuts[i] && mark.end >= end);
    return mark ? element("mark", { class: mark.class }, part) : part;
  });
}

/** English words that stand in any text: matches of them say nothing about a passage. */
const FUNCTION_WORDS = new Set(
  (
    "a about after all also am an and any are as at be been before but by can could did do does for " +
    "from had has have he her his how i if in into is it its may me might must my no not of on or our " +
    "she should so some such than that the their them then there these they this those to us was we " +
    "were what when where which who whom whose why will with would you your"
  ).split(" "),
);

/**
 * The words of a passage that match words of the question, of those that carry meaning, wherever
 * they occur.
 *
 * @param field "title" or "text", which `text` is
 */
export function matchesOf(tokens, field, question, text) {
  const best = Math.max(...tokens.map(({ score }) => score));
  const places = wordsOf(text);
  const asked = wordsOf(question);
  const found = tokens.flatMap(({ span, match, score }) => {
    if (!span || !match.span || match.field !== field || score < best / 2) return [];
    const word = wordAt(places, match.span.start);
    return word && isContent(word) && isContent(wordAt(asked, span.start)) ? [word.word] : [];
  });
  const words = new Set(found.map((word) => word.toLowerCase()));
  return places
    .filter(({ word }) => words.has(word.toLowerCase()))
    .map(({ start, end }) => ({ start, end, class: "match" }));
}

const wordAt = (words, place) => words.find(({ start, end }) => start <= place && place < end);

const isContent = (found) => found !== undefined && !FUNCTION_WORDS.has(found.word.toLowerCase());

const wordsOf = (text) =>
  [...text.matchAll(/[\p{L}\p{M}\p{N}]+(?:['’.,-][\p{L}\p{M}\p{N}]+)*/gu)].map(
    ({ 0: word, index }) => ({
      word,
      start: index,
      end: index + word.length,
    }),
  );
