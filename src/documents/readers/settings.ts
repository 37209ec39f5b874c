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
const RULE = /^\s*(?:[#;!%]|\/\/)?[-=#*;_\s]*$/;
const SECTION = /^\s*\[{1,2}\s*([^[\]=]{1,100}?)\s*\]{1,2}\s*(?:[#;].*)?$/;
const CAPITALS = /^(?=.*\p{Lu}{3})[^\p{Ll}=]{3,80}$/u;
/** A setting that a comment hides: `name = value`, `name: value`, `name on`. */
const SETTING =
  /^[\w.*$@/"-]+(?:\s*=|\s*:(?:\s+\S+){0,3}\s*$|\s+(?:\S*[\d/_.]\S*|on|off|yes|no|true|false)\s*$)/i;

export async function* read(file: SourceFile): AsyncGenerator<Document> {
  const outline = new Outline();
  for (const chunk of chunksOf(withoutRules(await file.text()))) add(chunk, outline);
  yield { title: "", blocks: outline.allBlocks() };
}

const withoutRules = (text: string): string =>
  text.replace(/^.*$/gm, (line) => (RULE.test(line) ? "" : line));

function add({ lines, first }: Chunk, outline: Outline): void {
  const [line = ""] = lines;
  const section = SECTION.exec(line)?.[1] ?? capitalsOf(line);
  if (section !== undefined) {
    outline.heading(SECTION.test(line) ? 1 : 2, section, { lines: [[0, first]] });
    if (lines.length > 1) add({ lines: lines.slice(1), first: first + 1 }, outline);
    return;
  }
  const next = lines.findIndex((one, i) => i > 0 && SECTION.test(one));
  if (next > 0) {
    add({ lines: lines.slice(0, next), first }, outline);
    add({ lines: lines.slice(next), first: first + next }, outline);
    return;
  }
  const plain = lines.map((one) => one.replace(COMMENT, ""));
  if (lines.every((one) => COMMENT.test(one)) && !plain.some((one) => SETTING.test(one)))
    for (const { text, headings: _, ...details } of blocksOfChunk({ lines: plain, first }))
      outline.text(text, details);
  else {
    const text = lines.join("\n");
    outline.text(text, { kind: "code", lines: [...consecutiveLines(text, first)] });
  }
}

function capitalsOf(line: string): string | undefined {
  const text = COMMENT.test(line) ? line.replace(COMMENT, "").trim() : "";
  return CAPITALS.test(text) ? text : undefined;
}
