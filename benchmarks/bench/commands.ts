/**
 * Whole commands, from start to end: what `npm run build` made, in a process of its own that writes
 * its processor time, of all its threads, when it exits.
 */

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import { median } from "./timing.ts";

const run = promisify(execFile);
const MAIN = "dist/cli/main.js";
const COMMANDS = ["--version", "retrieve", "answer"];
/** Writes the microseconds to stderr, as its last line. */
const REPORT = `data:text/javascript,process.on("exit", () => {
  const { user, system } = process.cpuUsage();
  process.stderr.write("\\n" + (user + system));
})`;

export interface CommandRows {
  readonly rows: readonly CommandRow[];
  /** Why nothing was measured. */
  readonly skipped?: string;
}

interface CommandRow {
  readonly command: string;
  /** Processor seconds: the median and the least. */
  readonly seconds: number;
  readonly least: number;
}

/** Each command in turn, `repetitions` times after one that is not counted. */
export async function timeCommands(
  index: string,
  question: string,
  repetitions: number,
): Promise<CommandRows> {
  if (!existsSync(MAIN)) return { rows: [], skipped: `${MAIN} is not there (npm run build)` };
  const times = COMMANDS.map((): number[] => []);
  for (let i = 0; i <= repetitions; i++)
    for (const [n, command] of COMMANDS.entries()) {
      process.stderr.write(`reatt ${command} ...\n`);
      const operands = command === "--version" ? [] : ["--index", index, question];
      const args = ["--import", REPORT, MAIN, command, ...operands];
      const { stderr } = await run(process.execPath, args);
      if (i > 0) times[n]!.push(Number(stderr.split("\n").at(-1)) / 1e6);
    }
  const rows = COMMANDS.map((command, n) => {
    const seconds = median(times[n]!);
    return { command: `reatt ${command}`, seconds, least: Math.min(...times[n]!) };
  });
  return { rows };
}

export function commandLines({ rows, skipped }: CommandRows): [name: string, value: string][] {
  const lines = rows.map(({ command, seconds, least }): [string, string] => [
    command,
    `${seconds.toFixed(2)} s of CPU, at least ${least.toFixed(2)} s`,
  ]);
  return skipped === undefined ? lines : [["commands", `skipped: ${skipped}`]];
}
