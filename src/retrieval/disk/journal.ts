/**
 * What an interrupted build has reached: a line for every window of passages that is durable on disk.
 *
 * The first line says for what the build was; each further line is a `Checkpoint`. A line is `CRC-32 JSON`, so a torn
 * or damaged one is seen, and it and everything after it does not count.
 */

import { readFile } from "node:fs/promises";
import { crc32 } from "node:zlib";
import type { FileRecord, IndexHeader } from "./manifest.ts";
import { isMissing } from "./storage.ts";

/** What must be equal for a build to go on where another stopped. */
export interface BuildPlan {
  readonly header: IndexHeader;
  /** Passages between two checkpoints. */
  readonly window: number;
}

/** The state of a segment after a window. */
export interface Checkpoint {
  readonly passages: number;
  readonly tokens: number;
  readonly longestKey: number;
  /** SHA-256 of all passages so far. */
  readonly digest: string;
  /** Sizes and checksums of the growing files at this point. */
  readonly files: Readonly<Record<string, FileRecord>>;
}

export const journalLine = (content: BuildPlan | Checkpoint): string => {
  const json = JSON.stringify(content);
  return `${crc32(json)} ${json}\n`;
};

/** The checkpoints of the journal at `path` if it is of this plan; none where there is no journal or it is of another. */
export async function readJournal(path: string, plan: BuildPlan): Promise<Checkpoint[]> {
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    if (isMissing(error)) return "";
    throw error;
  });
  const contents = [];
  for (const line of text.split("\n")) {
    const json = line.slice(line.indexOf(" ") + 1);
    if (line !== `${crc32(json)} ${json}`) break;
    contents.push(json);
  }
  const [first, ...checkpoints] = contents;
  return first === JSON.stringify(plan) ? checkpoints.map((json) => JSON.parse(json)) : [];
}
