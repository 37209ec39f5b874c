/** Standard input as a file: it is read more than once, and its first bytes tell its format. */

import { createWriteStream } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createTemporaryDirectory } from "../io/create-directory.ts";
import { InputError, writeErrorFrom } from "../io/errors.ts";
import { isPassageLine, readHead } from "./passage-file.ts";

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
    const path = `${copy}.${formatOf(head)}`;
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

function formatOf(head: Buffer): string {
  const text = head
    .toString("latin1")
    .replace(/^\u00ef\u00bb\u00bf/, "")
    .trimStart();
  if (isPassageLine(head)) return "jsonl";
  if (text.startsWith("%PDF-")) return "pdf";
  if (text.startsWith("PK\x03\x04")) return containerFormat(text);
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
  if (/PK\x03\x04[^]{26}ppt\//.test(head)) return "pptx";
  return /PK\x03\x04[^]{26}xl\//.test(head) ? "xlsx" : "docx";
}
