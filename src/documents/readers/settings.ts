/**
 * Files of settings: `.conf`, `.ini`, `.toml`, `.yaml` and others of one setting a line. Settings
 * keep their lines, with the comment above them; a comment alone is running text. `[section]` and
 * a comment in capitals are headings.
 */

import type { SourceFile } from "../file/source-file.ts";
import type { Document } from "../tree/document.ts";
import { consecutiveLines, Outline } from "../tree/outline.ts";
import { blocksOfChunk, type Chunk, chunksOf } from "../tree/plain-text.ts";

/** `#`, `;` and `//`, and those of single programs; a number of marks counts as one. */
const COMMENT = /^\s*(?:#+|;+|\/\/+|![ \t]|%[ \t])[ \t]?/;
/** A line of marks alone divides. */
const RULE = /^(?:[!%]|\/\/)?[-=#*;_\s]*$/;
const SECTION = /^\[{1,2}([^[\]=]{1,100})\]{1,2}(?:\s*[#;].*)?$/;
const CAPITALS = /^(?=.*\p{Lu}{3})[^\p{Ll}=]{3,80}$/u;
const NAME = /^[\w.*$@/"-]+$/;
/** What a setting is set to, if nothing stands between. */
const VALUE = /[\d/_]|\.\w|^(?:on|off|yes|no|true|false)$/i;
const MAX_VALUE_WORDS = 3;

export async function* read(file: SourceFile): AsyncGenerator<Document> {
  const outline = new Outline();
  for (const chunk of chunksOf(withoutRules(await file.text()))) add(chunk, outline);
  yield { title: "", blocks: outline.allBlocks() };
}

/** The shares of lines that are comments, at least, and of others that are sentences, at most. */
const [COMMENTS, SENTENCES] = [0.2, 0.1];
const SENTENCE = /^(?:\S+\s+){8}|\w[.!?]$/;

/** Whether a text without a name is settings: many comments and sections, and no sentences. */
export function areSettings(text: string): boolean {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const isComment = (line: string): boolean => /^\s*[#;]/.test(line) || SECTION.test(line.trim());
  const others = lines.filter((line) => !isComment(line));
  const sentences = others.filter((line) => SENTENCE.test(line.trim()));
  return (
    others.length > 0 &&
    lines.length - others.length >= COMMENTS * lines.length &&
    sentences.length <= SENTENCES * others.length
  );
}

const withoutRules = (text: string): string =>
  text.replace(/^.*$/gm, (line) => (RULE.test(line.trim()) ? "" : line));

function add({ lines, first }: Chunk, outline: Outline): void {
  let from = 0;
  for (const [at, line] of lines.entries()) {
    const heading = headingOf(line, at === from);
    if (!heading) continue;
    addPart({ lines: lines.slice(from, at), first: first + from }, outline);
    outline.heading(heading.level, heading.text, { lines: [[0, first + at]] });
    from = at + 1;
  }
  addPart({ lines: lines.slice(from), first: first + from }, outline);
}

/** @param isFirst whether nothing stands above the line */
function headingOf(line: string, isFirst: boolean): { level: number; text: string } | undefined {
  const [, section] = SECTION.exec(line.trim()) ?? [];
  if (section !== undefined) return { level: 1, text: section.trim() };
  const comment = isFirst && COMMENT.test(line) ? line.replace(COMMENT, "").trim() : "";
  return CAPITALS.test(comment) ? { level: 2, text: comment } : undefined;
}

function addPart({ lines, first }: Chunk, outline: Outline): void {
  if (lines.length === 0) return;
  const plain = lines.map((one) => one.replace(COMMENT, ""));
  if (lines.every((one) => COMMENT.test(one)) && !plain.some(isSetting))
    outline.blocks(blocksOfChunk({ lines: plain, first }));
  else {
    const text = lines.join("\n");
    outline.text(text, { kind: "code", lines: [...consecutiveLines(text, first)] });
  }
}

/** Whether a comment hides a setting: `name = value`, `name: value`, `name on`. */
function isSetting(text: string): boolean {
  const [name = "", ...values] = text.trim().split(/\s+/);
  const [beforeEquals] = name.split("=", 1);
  if (name.includes("=") || values[0]?.startsWith("=")) return NAME.test(beforeEquals!);
  if (name.endsWith(":")) return NAME.test(name.slice(0, -1)) && values.length <= MAX_VALUE_WORDS;
  return values.length === 1 && NAME.test(name) && VALUE.test(values[0]!);
}
