/** Writes a run as trec_eval reads it: `query Q0 document rank score tag`, one line a hit. */

import { type FileHandle, lstat, open } from "node:fs/promises";
import { InputError } from "../io/errors.ts";
import { replaceFile } from "../io/replace-file.ts";

const TAG = "reatt";

/** A file is replaced once the new one is whole; into a device, a pipe or a link (/dev/stdout) is written as it is. */
export async function writeRunFile(
  path: string,
  write: (file: FileHandle) => Promise<void>,
): Promise<void> {
  const there = await lstat(path).catch(() => undefined);
  if (there === undefined || there.isFile()) return replaceFile(path, write);
  const file = await open(path, "w");
  try {
    await write(file);
  } finally {
    await file.close();
  }
}

/** One line for each hit of a question, best first. */
export function trecRunLines(
  questionId: string,
  hits: readonly { readonly id: string; readonly score: number }[],
): string {
  return hits
    .map(
      ({ id, score }, index) =>
        `${field(questionId)} Q0 ${field(id)} ${index + 1} ${score} ${TAG}\n`,
    )
    .join("");
}

/** The format has no quotes: an id with white space would be two fields. */
function field(id: string): string {
  if (!/\s/.test(id)) return id;
  throw new InputError({
    where: "--run",
    expected: "ids without white space",
    got: JSON.stringify(id),
    remedy: "use --json, or rename it",
  });
}
