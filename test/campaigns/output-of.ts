import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { LOADER, programBeside } from "../support/node-program.ts";

/** What a campaign of this folder prints, also if it fails. It is printed here, too. */
export async function outputOf(name: string, count: number, ...options: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [...LOADER, programBeside(name, import.meta.url), "--count", `${count}`, ...options],
    { maxBuffer: 2 ** 24 },
  ).catch((error) => error);
  console.log(stdout.trimEnd());
  return stdout;
}
