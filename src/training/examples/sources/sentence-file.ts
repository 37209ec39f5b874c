/**
 * A corpus of sentences to mask, apart from the passages to search: X and Z of REALM (Guu et al.
 * 2020), section 3.4. JSON Lines with `text` or `sentence`, or lines of text; plain or gzip.
 */

import { InputError } from "../../../io/errors.ts";
import { excerpt } from "../../../io/excerpt.ts";
import { readTextLines } from "../../../io/text-file.ts";
import type { Passage } from "../../../text/passage.ts";
import type { Passages } from "../example.ts";

/** Ids of sentences begin with it; no id of a passage is meant. */
const PREFIX = "sentence ";

/**
 * Opens the file as a stream of texts, each of one line. It is read once to count the lines, and
 * once at each call of `passages`.
 *
 * @throws {InputError} if the file cannot be read, has no sentence, or has a line of another form
 */
export async function openSentences(file: string, signal?: AbortSignal): Promise<Passages> {
  let size = 0;
  for await (const _ of readSentences(file, signal)) size++;
  if (size > 0) return { size, passages: (accept) => readSentences(file, signal, accept) };
  throw new InputError({
    where: file,
    expected: "at least one sentence",
    got: "none",
    remedy: "write one a line",
  });
}

async function* readSentences(
  file: string,
  signal?: AbortSignal,
  accept: (id: string) => boolean = () => true,
): AsyncGenerator<Passage, void> {
  let isJson: boolean | undefined;
  for await (const { line, text, where } of readTextLines(file, "sentences, one a line", signal)) {
    if (text.trim() === "") continue;
    isJson ??= text.trimStart().startsWith("{"); // the first line decides
    const id = `${PREFIX}${line}`;
    if (accept(id)) yield { id, title: "", text: isJson ? sentenceOf(text, where) : text };
  }
}

function sentenceOf(line: string, where: string): string {
  const sentence = fieldOf(line);
  if (typeof sentence === "string") return sentence;
  throw new InputError({
    where,
    expected: 'a JSON object with "text" or "sentence"',
    got: excerpt(line),
    remedy: "write every line as JSON, or every line as text",
  });
}

function fieldOf(line: string): unknown {
  try {
    const { text, sentence } = JSON.parse(line) as { text?: unknown; sentence?: unknown };
    return text ?? sentence;
  } catch {
    return undefined;
  }
}
