/** Indexes that stay for the next run of the benchmark, with what it cost to build them. */

import { readFile } from "node:fs/promises";
import { replaceFile } from "../../src/io/replace-file.ts";
import { isMissing } from "../../src/retrieval/index/format/storage.ts";

export interface BuildCost {
  readonly passages: number;
  readonly tokens: number;
  readonly passagesPerSecond: number;
  readonly peakMegabytes: number;
}

/** Builds the index in `directory` if that was not done before. Returns what it cost when it was done. */
export async function keep(directory: string, build: () => Promise<BuildCost>): Promise<BuildCost> {
  const path = `${directory}.json`;
  const known = await readFile(path, "utf8").catch((error: unknown) => {
    if (!isMissing(error)) throw error;
    return undefined;
  });
  if (known !== undefined) return JSON.parse(known);
  const cost = await build();
  await replaceFile(path, (file) => file.writeFile(JSON.stringify(cost)));
  return cost;
}
