/**
 * Source code. A part begins with a definition that is not indented, with the comments before it;
 * the name of the definition is its heading.
 */

import { basename } from "node:path";
import type { SourceFile } from "../file/source-file.ts";
import type { Block, Document } from "../tree/document.ts";
import { consecutiveLines } from "../tree/outline.ts";
import { numberedLines } from "../tree/plain-text.ts";

/** Key words of a definition in the usual languages, and its name. */
const DEFINITION =
  /^(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|pub(?:\(\w{1,20}\))?|unsafe|extern|inline|local|data|sealed|open|override|declare)\s{1,4}){0,6}(?:function\*?|def|class|interface|struct|enum|trait|impl|fn|func|fun|module|namespace|object|type|record|sub|create\s{1,4}(?:or\s{1,4}replace\s{1,4})?(?:table|view|function|procedure))\s{1,4}(?:if\s{1,4}not\s{1,4}exists\s{1,4})?(?:\([^()]{0,100}\)\s{0,4})?["`]?([\p{L}_$][\p{L}\p{N}_$.]{0,100})/iu;
/** `const name = (…) =>` */
const FUNCTION_VALUE =
  /^(?:export\s{1,4})?(?:const|let|var)\s{1,4}([\p{L}_$][\p{L}\p{N}_$]{0,100})\s{0,4}(?::[^=]{0,200})?=\s{0,4}(?:async\s{0,4})?(?:function|\(|[\p{L}_$][\p{L}\p{N}_$]{0,50}\s{0,4}=>)/u;
/** Comments and annotations that belong to the definition below them. */
const ABOVE = /^(?:\/\/|\/\*|\s?\*|#(?!include|define|if|endif)|--|@|\[[A-Z])/;

export async function* read(file: SourceFile): AsyncGenerator<Document> {
  yield { title: basename(file.name), blocks: partsOf(await file.text()) };
}

function* partsOf(text: string): Generator<Block> {
  let lines: string[] = [];
  let [first, name] = [1, ""];
  for (const { line, number } of numberedLines(text)) {
    const found = definedName(line);
    if (found !== undefined) {
      const above = linesAbove(lines);
      const own = lines.slice(lines.length - above);
      yield* block(lines.slice(0, lines.length - above), first, name);
      [lines, first, name] = [own, number - above, found];
    }
    lines.push(line);
  }
  yield* block(lines, first, name);
}

const definedName = (line: string): string | undefined =>
  DEFINITION.exec(line.slice(0, 500))?.[1] ?? FUNCTION_VALUE.exec(line.slice(0, 500))?.[1];

/** How many of the last lines are comments of what follows. */
function linesAbove(lines: readonly string[]): number {
  let count = 0;
  while (count < lines.length && ABOVE.test(lines[lines.length - 1 - count]!)) count++;
  return count;
}

function* block(lines: readonly string[], first: number, name: string): Generator<Block> {
  const blank = lines.findIndex((line) => line.trim() !== "");
  if (blank === -1) return;
  const text = lines.slice(blank).join("\n").trimEnd();
  const headings = name === "" ? [] : [name];
  yield { text, kind: "code", headings, lines: [...consecutiveLines(text, first + blank)] };
}
