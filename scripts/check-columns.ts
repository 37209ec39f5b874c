/**
 * Checks the width of prose and comments: `tsx scripts/check-columns.ts [FILE...]`.
 *
 * Prose lines of Markdown have at most 120 columns, comment lines of TypeScript and shell files at
 * most 100. Not counted are tables, code blocks and HTML comments of Markdown, and lines that
 * cannot be broken because one word of them is too long, such as a link. Without arguments it
 * checks all files that git tracks. The last line is `N passed, N failed`, in files.
 */

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";

const PROSE_COLUMNS = 120;
const COMMENT_COLUMNS = 100;
const CHECKED = /^(?:src|test|scripts|benchmarks|recipes|assembly|\.ci)\//;
/** Generated pages and logs of runs, and documents that questions are about. */
const SKIPPED = /^recipes\/[^/]+\/logs\/|\/document-questions\/[^/]+\/documents\//;

interface LongLine {
  readonly number: number;
  readonly columns: number;
}

/** Code points: an accent or a dash counts once. */
const columnsOf = (line: string): number => [...line].length;

/** Whether a line of several words could be shorter: no word fills the limit by itself. */
const isBreakable = (line: string, limit: number): boolean => {
  const words = line.trim().split(/\s+/);
  const indent = line.length - line.trimStart().length;
  const longest = Math.max(...words.map(columnsOf));
  return words.length > 1 && indent + longest <= limit - BREAKABLE_REST;
};
/** Columns that a break has to gain: a link of 110 columns with its list marker stays as it is. */
const BREAKABLE_REST = 20;

function longProse(text: string): LongLine[] {
  const found: LongLine[] = [];
  let fence: string | undefined;
  let inHeader = false; // the YAML header of a model card
  for (const [i, line] of text.split("\n").entries()) {
    if (i === 0 && line === "---") inHeader = true;
    else if (inHeader) inHeader = line !== "---";
    else {
      const [mark] = /^\s*(?:```|~~~)/.exec(line) ?? [];
      if (mark !== undefined && (fence === undefined || fence === mark.trim()))
        fence = fence === undefined ? mark.trim() : undefined;
      else if (fence === undefined && !/^\s*(?:\||<!--)/.test(line))
        add(found, i, line, PROSE_COLUMNS);
    }
  }
  return found;
}

/** Lines within `/* ... *\/`, and `//` or `#` at the beginning or the end of a line. */
function longComments(text: string, isShell: boolean): LongLine[] {
  const found: LongLine[] = [];
  let inBlock = false;
  for (const [i, line] of text.split("\n").entries()) {
    if (isShell) {
      if (/^\s*#(?!!)|\s# /.test(line)) add(found, i, line, COMMENT_COLUMNS);
      continue;
    }
    const opens = /^\s*\/\*/.test(line);
    if (inBlock || opens || /(?:^|\s)\/\/ /.test(line)) add(found, i, line, COMMENT_COLUMNS);
    if (inBlock || opens) inBlock = !line.includes("*/");
  }
  return found;
}

function add(found: LongLine[], index: number, line: string, limit: number): void {
  const columns = columnsOf(line);
  if (columns > limit && isBreakable(line, limit)) found.push({ number: index + 1, columns });
}

/** Undefined for a file of another kind. */
function longLines(path: string): LongLine[] | undefined {
  const read = (): string => readFileSync(path, "utf8");
  if (path.endsWith(".md")) return longProse(read());
  if (/\.[cm]?ts$/.test(path)) return longComments(read(), false);
  if (/\/[\w-]+$/.test(path)) {
    const text = read();
    return text.startsWith("#!") ? longComments(text, true) : undefined;
  }
  return undefined;
}

function trackedFiles(): string[] {
  const list = execFileSync("git", ["ls-files", "-z"], { encoding: "utf8" });
  return list
    .split("\0")
    .filter((path) => (path.endsWith(".md") || CHECKED.test(path)) && !SKIPPED.test(path))
    .filter((path) => existsSync(path)); // not one that is deleted and not yet committed
}

const paths = process.argv.length > 2 ? process.argv.slice(2) : trackedFiles();
let [passed, failed] = [0, 0];
for (const path of paths) {
  const long = longLines(path);
  if (long === undefined) continue;
  const limit = path.endsWith(".md") ? PROSE_COLUMNS : COMMENT_COLUMNS;
  for (const { number, columns } of long)
    console.log(`FAIL  ${path}:${number} has ${columns} columns, at most ${limit}`);
  if (long.length > 0) failed++;
  else passed++;
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
