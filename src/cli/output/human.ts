/**
 * Results as text for people: excerpts of passages, answers with their evidence. Control characters
 * are removed, so that a corpus cannot control the terminal.
 */

import type { Evidence } from "../../decoder/evidence.ts";
import { pageOrLines } from "../../decoder/source.ts";
import type { AnswerOptions, Hit, Phrase, Reply } from "../../reatt.ts";
import { withoutTableRules } from "../../text/reading-form.ts";
import type { Span } from "../../text/span.ts";
import { plain } from "./plain.ts";

/** Characters of a snippet: about three lines of a terminal. */
const EXCERPT_LENGTH = 240;

/** Marks text with bold or brackets. */
export function mark(text: string, bold: boolean): string {
  return bold ? `\x1b[1m${text}\x1b[22m` : `[${text}]`;
}

/** Blocks after the first that are less probable are not shown. */
const LEAST_SHOWN = 0.05;

export function formatHits(question: string, hits: readonly Hit[]): string {
  const lines = hits.map(
    (hit, index) =>
      `${rank(index)} ${hit.score.toFixed(3)}  ${heading(hit)}\n` +
      `      ${snippet(hit.text, undefined, false)}${alsoIn(hit.duplicates)}`,
  );
  return [plain(question), ...(lines.length > 0 ? lines : ["no passage"]), ""].join("\n");
}

/** @param reader what read: from the marginal reader, `attention` is the posterior of a passage */
export function formatReply(
  question: string,
  reply: Reply<Hit>,
  bold: boolean,
  reader: AnswerOptions["reader"] = "fusion",
): string {
  const share = reader === "marginal" ? "posterior" : "attention";
  const answer = reply.answer === "" ? undefined : mark(plain(reply.answer), bold);
  const probable = reply.evidence.filter(({ score }, i) => i === 0 || score >= LEAST_SHOWN);
  const copies = new Map(reply.passages.map(({ id, duplicates }) => [id, duplicates]));
  const blocks = probable.map((block, index) =>
    [
      `${rank(index)} ${[heading(block), ...placeOf(block)].join(", ")}: ${percent(block.score)}`,
      `${blockText(block.text, block.span, bold)}${alsoIn(copies.get(block.id))}`,
    ].join("\n"),
  );
  const passages = reply.passages.map(
    ({ text, score, attention, span, duplicates, ...passage }, index) =>
      `${rank(index)} ${heading(passage)}: score ${score.toFixed(3)}` +
      `${attention > 0 ? `, ${share} ${percent(attention)}` : ""}\n` +
      `      ${snippet(text, span, bold)}${alsoIn(duplicates)}`,
  );
  const times = Object.entries(reply.times).map(
    ([stage, milliseconds]) => `${stage} ${milliseconds.toFixed(0)} ms`,
  );
  return [
    plain(question),
    reply.error?.message ?? answerLine(reply, answer),
    ...unknownLines(reply.unknown),
    ...sourceLines(reply.source),
    ...(blocks.length > 0 ? blocks : passages),
    times.join(", "),
    "",
  ].join("\n");
}

/** What the question names and no passage has. */
function unknownLines(unknown: Reply<Hit>["unknown"] = []): string[] {
  const words = unknown.map((word) => JSON.stringify(plain(word)));
  return words.length === 0 ? [] : [`no passage has ${words.join(" or ")}`];
}

/** The answer and its probability; without an answer there can be blocks that answer. */
function answerLine({ evidence, confidence }: Reply<Hit>, answer: string | undefined): string {
  if (answer === undefined && evidence.length > 0) return "no short answer; these passages say:";
  return `${answer ?? "no answer"} (confidence ${percent(confidence)})`;
}

/** Where the answer stands in its document; none for a passage without page, lines or link. */
function sourceLines(source: Reply<Hit>["source"]): string[] {
  if (!source) return [];
  const { id, document = id } = source;
  const places = placeOf(source);
  return places.length === 0 ? [] : [`source: ${plain([document, ...places].join(", "))}`];
}

const placeOf = (source: Pick<Evidence, "page" | "lines" | "link">): string[] =>
  [pageOrLines(source), source.link].flatMap((one) => (one === undefined ? [] : plain(one)));

/** The documents of near-duplicates, on a line. */
function alsoIn(duplicates: Hit["duplicates"] = []): string {
  const names = new Set(duplicates.map(({ id, document = id }) => plain(document)));
  return names.size === 0 ? "" : `\n      also in ${[...names].join(", ")}`;
}

/** A block with its lines, indented, and the answer marked. */
function blockText(text: string, span: Span | undefined, bold: boolean): string {
  const { start, end } = span ?? { start: 0, end: 0 };
  const parts = [text.slice(0, start), text.slice(start, end), text.slice(end)];
  const [before, answer, after] = parts.map((part) => part.split("\n").map(plain).join("\n"));
  const marked = `${before}${answer === "" ? "" : mark(answer!, bold)}${after}`;
  return withoutTableRules(marked)
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => `      ${line}`)
    .join("\n");
}

export function formatPhrases(question: string, phrases: readonly Phrase[], bold: boolean): string {
  const [best] = phrases;
  const lines = phrases.map(
    ({ text, score, span, ...passage }, index) =>
      `${rank(index)} ${score.toFixed(3)}  ${heading(passage)}\n` +
      `      ${snippet(text, span, bold)}`,
  );
  return [plain(question), best ? mark(plain(best.answer), bold) : "no answer", ...lines, ""].join(
    "\n",
  );
}

/** The part of a text around a span, or its start, on one line with the span marked. */
export function snippet(text: string, span: Span | undefined, bold: boolean): string {
  const { start, end } = span ?? { start: 0, end: 0 };
  const around = Math.max(0, EXCERPT_LENGTH - (end - start));
  const from = Math.max(0, Math.min(start - around / 2, text.length - EXCERPT_LENGTH));
  const first = from === 0 ? 0 : wordStart(text, Math.floor(from), start);
  const last = Math.max(end, Math.min(text.length, first + EXCERPT_LENGTH));
  const shown = (at: number, to: number) => plain(withoutTableRules(text.slice(at, to)));
  const before = shown(first, start);
  const marked = span ? mark(plain(text.slice(start, end)), bold) : "";
  const after = shown(end, last);
  const [ellipsisBefore, ellipsisAfter] = [first > 0 ? "…" : "", last < text.length ? "…" : ""];
  return `${ellipsisBefore}${before}${marked}${after}${ellipsisAfter}`;
}

/** The position of the first word that starts at `from` or later, at most `limit`. */
function wordStart(text: string, from: number, limit: number): number {
  const space = text.slice(from, limit).search(/\s/);
  return space === -1 ? limit : from + space + 1;
}

function heading({ id, title, collection }: Pick<Hit, "id" | "title" | "collection">): string {
  const name = title === "" ? plain(id) : `${plain(title)} (${plain(id)})`;
  return collection === undefined ? name : `${plain(collection)}: ${name}`;
}

const percent = (share: number): string => `${(share * 100).toFixed(0)} %`;

/** 0 -> "   1." */
const rank = (index: number): string => `${String(index + 1).padStart(4)}.`;
