/**
 * A journal: a file in which a writer records its progress, so that an interrupted writer can
 * resume.
 *
 * The first line is the plan, which identifies the input. Every other line is a step that is
 * durable on disk. A line is `CRC-32 JSON`. A damaged line and all lines after it are ignored.
 */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { isMissing } from "../../../io/errors.ts";
import { replaceFile } from "../../../io/replace-file.ts";

export const journalPath = (folder: string): string => join(folder, "journal");

export const journalLine = (content: object): string => {
  const json = JSON.stringify(content);
  return `${crc32(json)} ${json}\n`;
};

/** Writes a journal with these steps to `folder`. It replaces an existing journal. */
export function writeJournal(
  folder: string,
  plan: object,
  steps: readonly object[],
): Promise<void> {
  const lines = [plan, ...steps].map(journalLine);
  return replaceFile(journalPath(folder), (file) => file.writeFile(lines.join("")));
}

/**
 * The steps of the journal in `folder`; none if there is no journal or its plan differs. `Step` is
 * the type that writers with this plan record.
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
