import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { LOADER, programBeside } from "../support/node-program.ts";

/** The end of the last line of a campaign that found nothing. */
export const NO_FAILURE = /: tried [1-9]\d*, lost 0, wrong 0, hung 0, ended 0, over memory 0\n$/;

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
