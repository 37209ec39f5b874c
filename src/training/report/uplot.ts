/** uPlot (https://github.com/leeoniya/uPlot), as text to put into a page. */

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

export interface PagePlotter {
  /** Defines the global variable `uPlot`. Begins with the licence. */
  readonly script: string;
  readonly style: string;
}

/** Reads the installed package. */
export async function readUPlot(): Promise<PagePlotter> {
  const folder = dirname(createRequire(import.meta.url).resolve("uplot/package.json"));
  const read = (...path: string[]): Promise<string> => readFile(join(folder, ...path), "utf8");
  const [script, style, licence] = await Promise.all([
    read("dist", "uPlot.iife.min.js"),
    read("dist", "uPlot.min.css"),
    read("LICENSE"),
  ]);
  return { script: `/*\n${licence}*/\n${script}`, style };
}
