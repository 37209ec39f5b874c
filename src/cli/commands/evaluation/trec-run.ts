/**
 * Writes rankings in the format of trec_eval: `query Q0 document rank score tag`, one line a hit.
 *
 * Source: https://github.com/usnistgov/trec_eval
 */

import { lstat } from "node:fs/promises";
import { InputError } from "../../../io/errors.ts";
import { type OpenFile, openFile } from "../../../io/open-file.ts";
import { replaceFile } from "../../../io/replace-file.ts";

const TAG = "reatt";

/**
 * Replaces a file when the new one is complete. Writes directly to a device, a pipe and the target
 * of a link, such as /dev/stdout.
 */
export async function writeRunFile(
  path: string,
  write: (file: OpenFile) => Promise<void>,
): Promise<void> {
  const existing = await lstat(path).catch(() => undefined);
  if (existing === undefined || existing.isFile()) return replaceFile(path, write);
  const file = await openFile(path, "w");
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

/** The format has no quotes: white space in an id would start another field. */
function field(id: string): string {
  if (!/\s/.test(id)) return id;
  throw new InputError({
    where: "--run",
    expected: "ids without white space",
    got: JSON.stringify(id),
    remedy: "use --json, or rename the id",
  });
}
