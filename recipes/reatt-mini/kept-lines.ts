/** Records of scripts that can be stopped: JSON Lines, after which the same command goes on. */

import { readFile } from "node:fs/promises";
import { isMissing } from "../../src/io/errors.ts";
import { replaceFile } from "../../src/io/replace-file.ts";

/** The complete lines of a file, none without a file. An incomplete last line is removed. */
export async function keptLines<Line>(path: string): Promise<Line[]> {
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    if (isMissing(error)) return "";
    throw error;
  });
  const whole = text.slice(0, text.lastIndexOf("\n") + 1);
  await replaceFile(path, (file) => file.writeFile(whole));
  return whole
    .split("\n")
    .slice(0, -1)
    .map((line): Line => JSON.parse(line));
}
