/** scripts/run-examples.ts on a small library. */

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";

const folder = mkdtempSync(join(tmpdir(), "reatt-examples-test-"));
test.after(() => rmSync(folder, { recursive: true }));

function runExamples(source: string): { status: number | null; lines: string[] } {
  const entry = join(folder, "entry.mts");
  writeFileSync(entry, source);
  // Through tsx, also where the tests are compiled: the examples are TypeScript.
  const argv = ["--import", "tsx", "scripts/run-examples.ts", `library=${entry}`];
  const { status, stdout } = spawnSync(process.execPath, argv, { encoding: "utf8" });
  return { status, lines: stdout.trimEnd().split("\n") };
}

/** A docstring with an example. */
function example(code: string, language = "ts"): string {
  return ["", "Text.", "", "@example", `\`\`\`${language}`, ...code.split("\n"), "```"]
    .map((line) => ` * ${line}`)
    .join("\n")
    .replace(/^ \* /, "/**")
    .concat("\n */");
}

const IMPORT = `import { add } from "library";`;

test("runs the examples of functions, methods and interfaces", () => {
  const { status, lines } = runExamples(`
${example(`${IMPORT}\nif (add(1, 2) !== 3) throw new Error();`)}
export function add(a: number, b: number): number { return a + b; }

export class Sum {
  #total = 0;
${example(`import { Sum } from "library";\nconst sum = new Sum();\nsum.add(2);\nconsole.log(sum.total);`)}
  add(value: number): void { this.#total += value; }
${example(`import { readFile } from "node:fs/promises";\nawait readFile("package.json");`)}
  static async open(): Promise<Sum> { return new Sum(); }
  get total(): number { return this.#total; }
  private hidden(): void {}
  #own(): void { this.hidden(); }
  [Symbol.dispose](): void { this.#own(); }
}

${example(`throw new Error("not run");`, "ts no-run")}
export interface Reader { read(): string }

export interface Options { readonly onRead?: (text: string) => void }
`);
  assert.equal(lines.at(-1), "4 passed, 0 failed", lines.join("\n"));
  assert.is(status, 0);
  assert.ok(lines.includes("ok    Reader (type check only)"));
});

test("fails with examples that do not compile, that throw or that are missing", () => {
  const { status, lines } = runExamples(`
${example(`${IMPORT}\nadd("1", 2);`)}
export function add(a: number, b: number): number { return a + b; }

${example(`${IMPORT}\nadd("1", 2);`, "ts no-run")}
export function unrun(): void {}

${example(`console.log("before");\nthrow new Error("broken");`)}
export function broken(): void {}

${example("anything", "js")}
export function otherLanguage(): void {}

/** Text. */
export class Sum { add(): void {} }

export interface Reader { read(): string }
`);
  const output = lines.join("\n");
  assert.equal(lines.at(-1), "0 passed, 6 failed", output);
  assert.is(status, 1);
  assert.match(output, /FAIL {2}add, .*entry\.mts:\d+\n.*not assignable.*line 2, add\("1", 2\);/);
  assert.match(output, /FAIL {2}unrun, .*\n.*not assignable/);
  assert.match(output, /FAIL {2}broken, .*\n +before\n +Error: broken/);
  for (const name of ["otherLanguage", "Sum.add", "Reader"])
    assert.match(output, `FAIL  ${name} has no example`);
});

test("fails where nothing is exported that could have an example", () => {
  const { status, lines } = runExamples("export const one = 1;");
  assert.is(lines.at(-1), "0 passed, 1 failed");
  assert.is(status, 1);
});

test.run();
