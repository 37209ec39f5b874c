/** Indexes that are kept for the next run of the benchmark, with the cost of their build. */

import { readFile } from "node:fs/promises";
import { isMissing } from "../../src/io/errors.ts";
import { replaceFile } from "../../src/io/replace-file.ts";

export interface BuildCost {
  readonly passages: number;
  readonly tokens: number;
  readonly passagesPerSecond: number;
  readonly peakMegabytes: number;
}

/** Builds the index in `directory` if it does not exist. Returns the cost of its build. */
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
