/** Ids of passages in a file, one a line. */

import { readFile } from "node:fs/promises";
import { InputError } from "../io/errors.ts";

/** @throws {InputError} where there is no such file. */
export async function readIds(file: string): Promise<string[]> {
  const text = await readFile(file, "utf8").catch((cause: Error) => {
    const problem = {
      where: file,
      expected: "a file of ids",
      got: cause.message,
      remedy: "name one",
    };
    throw new InputError(problem, { cause });
  });
  return text.split(/\r?\n/).filter((line) => line !== "");
}
