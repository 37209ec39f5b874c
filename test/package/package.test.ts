/**
 * The published package: built and packed as by `npm publish`, unpacked as by an installation, and
 * used from outside.
 */

import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";

interface Manifest {
  version: string;
  bin: Record<string, string>;
  exports: Record<string, string | Record<string, string>>;
  files: string[];
  dependencies: Record<string, string>;
}

const manifest: Manifest = JSON.parse(readFileSync("package.json", "utf8"));
const folder = mkdtempSync(join(tmpdir(), "reatt-package-"));
const consumer = join(folder, "consumer");
const installed = join(consumer, "node_modules", "reatt");

function run(cwd: string, command: string, ...args: string[]): string {
  return execFileSync(command, args, { cwd, encoding: "utf8" }).trim();
}

test.before(() => {
  // A copy, because the build replaces `dist`, which other tests use.
  const source = join(folder, "source");
  const built = ["package.json", "tsconfig.json", "tsconfig.build.json", "src", ...manifest.files];
  for (const name of built)
    if (name !== "dist") cpSync(name, join(source, name), { recursive: true });
  symlinkSync(resolve("node_modules"), join(source, "node_modules"));
  run(source, "npm", "pack", "--loglevel=error");

  mkdirSync(installed, { recursive: true });
  const tarball = join(source, `reatt-${manifest.version}.tgz`);
  run(consumer, "tar", "-xf", tarball, "--strip-components=1", "-C", installed);
  // Only what the package declares: importing a development dependency fails.
  for (const name of Object.keys(manifest.dependencies)) {
    const link = join(consumer, "node_modules", name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(resolve("node_modules", name), link);
  }
});
test.after(() => rmSync(folder, { recursive: true }));

test("exports are files of the package", () => {
  for (const target of Object.values(manifest.exports)) {
    const paths = typeof target === "string" ? [target] : Object.values(target);
    for (const path of paths) assert.ok(existsSync(join(installed, path)), path);
  }
});

test("the command prints its version", () => {
  const command = join(installed, manifest.bin.reatt!);
  assert.ok(statSync(command).mode & 0o100);
  assert.is(run(consumer, command, "--version"), manifest.version);
});

test("the package contains the model and the licence, but no sources or tests", () => {
  for (const path of ["models/reatt-mini/model.safetensors", "LICENSE", "README.md"]) {
    assert.ok(existsSync(join(installed, path)), path);
  }
  for (const path of ["src", "test", "scripts"])
    assert.not.ok(existsSync(join(installed, path)), path);
});

test("every entry point can be imported", () => {
  for (const [entry, target] of Object.entries(manifest.exports)) {
    if (typeof target === "string") continue; // package.json
    const program = `import * as entry from "${join("reatt", entry)}"; console.log(Object.keys(entry).length > 0);`;
    assert.is(
      run(consumer, process.execPath, "--input-type=module", "--eval", program),
      "true",
      entry,
    );
  }
});

test("the types are found and checked", () => {
  const program = `
    import { type Passage, ReAtt } from "reatt";
    export async function ask(passages: AsyncIterable<Passage>): Promise<string> {
      await using model = await ReAtt.load("models/reatt-mini");
      await using index = await model.index(passages, { directory: "my-index" });
      const reply = await model.answer("who?", index, { topK: 10 });
      // @ts-expect-error: passages are counted
      await model.answer("who?", index, { topK: "ten" });
      return reply.answer;
    }`;
  const compilerOptions = {
    strict: true,
    target: "es2022",
    lib: ["es2022", "esnext.disposable"],
    module: "nodenext",
    noEmit: true,
    types: ["node"],
    typeRoots: [resolve("node_modules/@types")],
  };
  writeFileSync(join(consumer, "package.json"), `{ "type": "module" }`);
  writeFileSync(
    join(consumer, "tsconfig.json"),
    JSON.stringify({ compilerOptions, files: ["use.ts"] }),
  );
  writeFileSync(join(consumer, "use.ts"), program);
  run(consumer, resolve("node_modules/.bin/tsc"), "-p", ".");
});

test.run();
