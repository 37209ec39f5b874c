/**
 * Type-checks and runs the examples of the public API:
 * `tsx scripts/run-examples.ts [MODULE=ENTRY...]`.
 *
 * An example is a fenced `ts` block of an `@example` tag in the docstring of something that an
 * entry file exports, or of a member of it. An example imports this library by the name MODULE; the
 * import goes to the source file ENTRY. Examples run one after the other in this process and in the
 * current folder; a block marked `ts no-run` is only type-checked.
 *
 * Each exported function, each public method of an exported class, and each exported interface
 * with methods must have an example. A class with an internal constructor counts as an interface.
 * The last line is `N passed, N failed`; each example, and each missing one, counts once.
 */

import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { findExamples } from "./examples/find.ts";
import { typeErrors } from "./examples/type-check.ts";

const ENTRIES = [
  "reatt=src/index.ts",
  "reatt/documents=src/documents/index.ts",
  "reatt/evaluation=src/evaluation/index.ts",
  "reatt/training=src/training/index.ts",
  "reatt/langchain=src/adapters/langchain.ts",
  "reatt/ai-sdk=src/adapters/ai-sdk.ts",
];
const TIME_LIMIT_S = 60;

const modules = new Map(
  (process.argv.length > 2 ? process.argv.slice(2) : ENTRIES).map((argument) => {
    const [name, entry] = argument.split("=") as [string, string];
    return [name, resolve(entry)];
  }),
);
const { examples, missing } = findExamples([...modules.values()]);
const failures = new Map(typeErrors(examples, modules));
const folder = mkdtempSync(join(tmpdir(), "reatt-examples-"));
symlinkSync(resolve("node_modules"), join(folder, "node_modules")); // for packages of others
process.env.TMPDIR = folder; // what examples write is removed with it
let passed = 0;
for (const [i, example] of examples.entries()) {
  const start = performance.now();
  if (!failures.has(example) && example.run) {
    const failure = await run(example.code, join(folder, `${i}.mts`));
    if (failure !== undefined) failures.set(example, failure);
  }
  const failure = failures.get(example);
  const time = example.run ? `${Math.round(performance.now() - start)} ms` : "type check only";
  if (failure === undefined) {
    passed++;
    console.log(`ok    ${example.name} (${time})`);
  } else
    console.log(`FAIL  ${example.name}, ${example.where}\n${failure.replace(/^/gm, "      ")}`);
}
rmSync(folder, { recursive: true });
for (const { name, where } of missing) console.log(`FAIL  ${name} has no example, ${where}`);
const failed = failures.size + missing.length + (examples.length + missing.length === 0 ? 1 : 0);
console.log(`\n${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1); // an example may leave handles open

/** Runs one example. Returns what it printed and how it failed, if it did. */
async function run(code: string, file: string): Promise<string | undefined> {
  const withSources = code.replace(
    /(\bfrom\s*|\bimport\s*\(?\s*)(["'])([^"']+)\2/g,
    (whole, before: string, quote: string, name: string) => {
      const entry = modules.get(name);
      return entry ? `${before}${quote}${pathToFileURL(entry)}${quote}` : whole;
    },
  );
  writeFileSync(file, withSources);
  const printed: string[] = [];
  const { log } = console;
  console.log = (...values) => printed.push(values.join(" "));
  let timer: NodeJS.Timeout | undefined;
  try {
    const limit = new Promise((_, reject) => {
      const late = () => reject(new Error(`did not end within ${TIME_LIMIT_S} s`));
      timer = setTimeout(late, TIME_LIMIT_S * 1000);
    });
    await Promise.race([import(pathToFileURL(file).href), limit]);
    return undefined;
  } catch (error) {
    return [...printed, error instanceof Error ? error.stack : String(error)].join("\n");
  } finally {
    console.log = log;
    clearTimeout(timer);
  }
}
