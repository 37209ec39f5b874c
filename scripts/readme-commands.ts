/**
 * Runs the commands of a README as they are written, and compares what they print:
 * `tsx scripts/readme-commands.ts README.md`.
 *
 * A command is a fenced `sh` block below the line `<!-- ci -->`. Each block runs in its own shell,
 * in the current folder, and stops at its first failure. The expected output is a fenced `text`
 * block below the line `<!-- output -->`. It belongs to the nearest command above it and is
 * compared with everything that the command writes to stdout:
 *
 * - The line `...` stands for any lines, also none.
 * - `…` at the end of a line stands for any rest of that line.
 * - `~20.6` stands for any number within 10 % of 20.6.
 * - White space at the end of lines is ignored.
 *
 * The last line is `N passed, N failed`; each command counts once.
 */

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";

interface Command {
  readonly shell: string;
  /** The text block that documents the output. */
  output?: string;
}

const MARKED_BLOCK = /^<!-- (ci|output) -->\n```(\w*)\n(.*?)^```$/gms;
const LANGUAGE = { ci: "sh", output: "text" } as const;
const TOLERANCE = 0.1;
const NUMBER = String.raw`-?\d[\d,]*(?:\.\d+)?`;

const readme = process.argv[2] ?? "README.md";
let passed = 0;
let failed = 0;
try {
  const commands = findCommands(readFileSync(readme, "utf8"));
  for (const command of commands) {
    const fault = await check(command);
    if (fault === undefined) passed++;
    else {
      failed++;
      console.log(`FAIL  ${fault}`);
    }
  }
} catch (error) {
  failed++;
  console.log(`FAIL  ${readme}: ${(error as Error).message}`);
}
console.log(`\n${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

function findCommands(markdown: string): Command[] {
  const commands: Command[] = [];
  for (const [, mark, language, content] of markdown.matchAll(MARKED_BLOCK)) {
    const expected = LANGUAGE[mark as keyof typeof LANGUAGE];
    if (language !== expected)
      throw new Error(`the block below <!-- ${mark} --> is "${language}", expected "${expected}"`);
    if (mark === "ci") commands.push({ shell: content! });
    else {
      const command = commands.at(-1);
      if (!command || command.output !== undefined)
        throw new Error(`no command for the output "${content!.split("\n")[0]}"`);
      command.output = content!;
    }
  }
  const marks = [...markdown.matchAll(/^<!-- (ci|output) -->/gm)].length;
  const blocks = commands.length + commands.filter(({ output }) => output !== undefined).length;
  if (marks !== blocks) throw new Error(`${marks - blocks} marks have no fenced block below them`);
  if (commands.length === 0) throw new Error("no command is marked with <!-- ci -->");
  return commands;
}

/** Runs a command. Returns what is wrong with it. */
async function check({ shell, output }: Command): Promise<string | undefined> {
  console.log(`\n${shell.trimEnd().replace(/^/gm, "$ ")}`);
  const child = spawn("bash", ["-euo", "pipefail", "-c", shell], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const chunks: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => {
    chunks.push(chunk);
    process.stdout.write(chunk);
  });
  const status = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject).once("close", resolve);
  });
  const printed = Buffer.concat(chunks).toString();
  if (printed !== "" && !printed.endsWith("\n")) console.log();
  if (status !== 0) return `exit code ${status}`;
  if (output === undefined) return undefined;
  return difference(lines(printed), lines(output));
}

/** The lines of a text, without white space at their ends and empty lines at its end. */
function lines(text: string): string[] {
  return text
    .trimEnd()
    .split("\n")
    .map((line) => line.trimEnd());
}

/** Where the output differs from the expected lines. */
function difference(actual: readonly string[], expected: readonly string[]): string | undefined {
  let furthest = { line: 0, pattern: 0 };
  function match(line: number, pattern: number): boolean {
    if (pattern > furthest.pattern) furthest = { line, pattern };
    if (pattern === expected.length) return line === actual.length;
    if (expected[pattern] === "...")
      return match(line, pattern + 1) || (line < actual.length && match(line + 1, pattern));
    if (line === actual.length || !matches(actual[line]!, expected[pattern]!)) return false;
    return match(line + 1, pattern + 1);
  }
  if (match(0, 0)) return undefined;
  const quote = (line: string | undefined) => (line === undefined ? "no more lines" : `"${line}"`);
  const { line, pattern } = furthest;
  return `the README shows ${quote(expected[pattern])}, the command prints ${quote(actual[line])}`;
}

function matches(line: string, pattern: string): boolean {
  const cut = pattern.endsWith("…");
  const approximations = pattern.match(new RegExp(`~${NUMBER}`, "g")) ?? [];
  const source = (cut ? pattern.slice(0, -1) : pattern)
    .split(new RegExp(`~${NUMBER}`))
    .map((text) => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"))
    .join(`(${NUMBER})`);
  const found = line.match(new RegExp(`^${source}${cut ? "" : "$"}`));
  if (!found) return false;
  return approximations.every((approximation, i) => {
    const expected = toNumber(approximation.slice(1));
    return Math.abs(toNumber(found[i + 1]!) - expected) <= TOLERANCE * Math.abs(expected);
  });
}

function toNumber(text: string): number {
  return Number(text.replaceAll(",", ""));
}
