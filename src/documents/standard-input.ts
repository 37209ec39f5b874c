/** Standard input as a file: it is read more than once, and its first bytes tell its format. */

import { createWriteStream } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createTemporaryDirectory } from "../io/create-directory.ts";
import { InputError, writeErrorFrom } from "../io/errors.ts";
import { isPassageLine, readHead } from "./passage-file.ts";

/** What a part of a zip file begins with, and where its name begins after that. */
const ZIP_PART = "PK\x03\x04";
const NAME_OFFSET = 26;

export interface SpooledInput extends AsyncDisposable {
  readonly path: string;
}

/**
 * Copies standard input to a temporary file `stdin.ENDING`.
 *
 * @throws {InputError} if there is no input
 */
export async function spoolStandardInput(
  signal?: AbortSignal,
  input: NodeJS.ReadableStream = process.stdin,
): Promise<SpooledInput> {
  const folder = await createTemporaryDirectory("stdin");
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    const copy = join(folder, "stdin");
    await pipeline(input, createWriteStream(copy), { signal });
    const head = await readHead(copy);
    if (head.toString("latin1").trim() === "") throw noInput();
    const path = `${copy}.${endingFor(head)}`;
    await rename(copy, path);
    return { path, [Symbol.asyncDispose]: remove };
  } catch (error) {
    await remove();
    throw writeErrorFrom(error, folder);
  }
}

const noInput = (): InputError =>
  new InputError({
    where: "standard input",
    expected: "a document with text",
    got: "none",
    remedy: "check the command before the pipe",
  });

function endingFor(head: Buffer): string {
  const text = head
    .toString("latin1")
    .replace(/^\u00ef\u00bb\u00bf/, "")
    .trimStart();
  if (isPassageLine(head)) return "jsonl";
  if (text.startsWith("%PDF-")) return "pdf";
  if (text.startsWith(ZIP_PART)) return containerFormat(text);
  if (/^<(!doctype html|html|head|body)\b/i.test(text)) return "html";
  if (/^[[{]/.test(text)) return "json";
  return "txt";
}

/** The format of a zip file, by the names of its first parts. */
function containerFormat(head: string): string {
  if (head.includes("application/epub+zip")) return "epub";
  const kind = /application\/vnd\.oasis\.opendocument\.(text|spreadsheet|presentation)/.exec(
    head,
  )?.[1];
  if (kind !== undefined) return kind === "text" ? "odt" : kind === "spreadsheet" ? "ods" : "odp";
  const names = head.split(ZIP_PART).map((part) => part.slice(NAME_OFFSET));
  if (names.some((name) => name.startsWith("ppt/"))) return "pptx";
  return names.some((name) => name.startsWith("xl/")) ? "xlsx" : "docx";
}
