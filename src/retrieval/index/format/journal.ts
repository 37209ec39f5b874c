/**
 * What an interrupted writer has reached: a file beside those that it writes.
 *
 * Its first line is the plan, which says for what the files are; each further line is a step that is durable on disk. A
 * line is `CRC-32 JSON`, so a torn or damaged one is seen, and it and everything after it does not count.
 */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { replaceFile } from "../../../io/replace-file.ts";
import { isMissing } from "./storage.ts";

export const journalPath = (folder: string): string => join(folder, "journal");

export const journalLine = (content: object): string => {
  const json = JSON.stringify(content);
  return `${crc32(json)} ${json}\n`;
};

/** Puts a journal of these steps in the place of the one in `folder`, if there is one. */
export function writeJournal(
  folder: string,
  plan: object,
  steps: readonly object[],
): Promise<void> {
  const lines = [plan, ...steps].map(journalLine);
  return replaceFile(journalPath(folder), (file) => file.writeFile(lines.join("")));
}

/**
 * The steps of the journal in `folder` if it is of this plan; none where there is no journal or it is of another. `Step`
 * is what writers of such a plan note.
 */
export async function readJournal<Step>(folder: string, plan: object): Promise<Step[]> {
  const text = await readFile(journalPath(folder), "utf8").catch((error: unknown) => {
    if (isMissing(error)) return "";
    throw error;
  });
  const contents = [];
  for (const line of text.split("\n")) {
    const json = line.slice(line.indexOf(" ") + 1);
    if (line !== `${crc32(json)} ${json}`) break;
    contents.push(json);
  }
  const [first, ...steps] = contents;
  return first === JSON.stringify(plan) ? steps.map((json) => JSON.parse(json)) : [];
}
