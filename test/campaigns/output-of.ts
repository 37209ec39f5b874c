import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** What a campaign of this folder prints, also if it fails. It is printed here, too. */
export async function outputOf(name: string, count: number, ...options: string[]): Promise<string> {
  const script = fileURLToPath(new URL(`${name}.ts`, import.meta.url));
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--import", "tsx", script, "--count", `${count}`, ...options],
    { maxBuffer: 2 ** 24 },
  ).catch((error) => error);
  console.log(stdout.trimEnd());
  return stdout;
}
