/**
 * The published package: built and packed as by `npm publish`, unpacked as by an installation, and
 * used from outside.
 */

import { execFileSync, spawnSync } from "node:child_process";
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
  const needed = ["package.json", "tsconfig.json", "tsconfig.build.json", "src", "scripts"];
  const built = [...needed, ...manifest.files];
  for (const name of built)
    if (name !== "dist" && !name.startsWith("!"))
      cpSync(name, join(source, name), { recursive: true });
  symlinkSync(resolve("node_modules"), join(source, "node_modules"));
  run(source, "npm", "pack", "--loglevel=error");

  mkdirSync(installed, { recursive: true });
  const tarball = join(source, `reatt-${manifest.version}.tgz`);
  run(consumer, "tar", "-xf", tarball, "--strip-components=1", "-C", installed);
  // Only what the package declares: importing a development dependency fails.
  link(Object.keys(manifest.dependencies));
});

function link(names: readonly string[]): void {
  for (const name of names) {
    const path = join(consumer, "node_modules", name);
    mkdirSync(dirname(path), { recursive: true });
    symlinkSync(resolve("node_modules", name), path);
  }
}

const CHECK_LINKS = resolve("scripts/check-links.ts");

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

test("links in the packed documents lead to files of the package", () => {
  const loader = resolve("node_modules/tsx/dist/esm/index.mjs");
  const args = ["--import", loader, CHECK_LINKS, "."];
  const { stdout } = spawnSync(process.execPath, args, { cwd: installed, encoding: "utf8" });
  assert.match(stdout, /^\d+ passed, 0 failed$/m);
});

test("the main entry points need no optional package", () => {
  for (const entry of ["reatt", "reatt/documents", "reatt/training"])
    run(consumer, process.execPath, "--input-type=module", "--eval", `import "${entry}";`);
});

test("every entry point can be imported", () => {
  link(["@langchain/core", "ai"]);
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

/** Compiles a program of the consumer. */
function compile(program: string, options: object = {}): void {
  const compilerOptions = {
    strict: true,
    target: "es2022",
    lib: ["es2022", "esnext.disposable"],
    module: "nodenext",
    noEmit: true,
    types: ["node"],
    typeRoots: [resolve("node_modules/@types")],
    ...options,
  };
  writeFileSync(join(consumer, "package.json"), `{ "type": "module" }`);
  writeFileSync(
    join(consumer, "tsconfig.json"),
    JSON.stringify({ compilerOptions, files: ["use.ts"] }),
  );
  writeFileSync(join(consumer, "use.ts"), program);
  run(consumer, resolve("node_modules/.bin/tsc"), "-p", ".");
}

test("the types are found and checked", () => {
  compile(`
    import { type Passage, ReAtt } from "reatt";
    export async function ask(passages: AsyncIterable<Passage>): Promise<string> {
      await using model = await ReAtt.load();
      await using index = await model.index(passages, { directory: "my-index" });
      const reply = await model.answer("who?", index, { topK: 10 });
      // @ts-expect-error: passages are counted
      await model.answer("who?", index, { topK: "ten" });
      return reply.answer;
    }`);
});

test("the adapters have the types that LangChain.js and the AI SDK expect", () => {
  const program = `
    import type { BaseRetrieverInterface } from "@langchain/core/retrievers";
    import { generateText, type LanguageModel, rerank } from "ai";
    import type { ReAtt, TokenIndex } from "reatt";
    import { rerankingModel, searchTool } from "reatt/ai-sdk";
    import { ReattRetriever } from "reatt/langchain";
    export async function ask(model: ReAtt, index: TokenIndex, language: LanguageModel) {
      const retriever: BaseRetrieverInterface = new ReattRetriever({ model, index });
      await rerank({ model: rerankingModel(model), query: "who?", documents: ["a", "b"] });
      const tools = { search: searchTool(model, index) };
      const { text } = await generateText({ model: language, tools, prompt: "who?" });
      // @ts-expect-error: the model of reatt is no model of the AI SDK
      await rerank({ model, query: "who?", documents: ["a", "b"] });
      return [retriever, text];
    }`;
  // The types of the AI SDK need those of a browser, and of packages that it does not install.
  compile(program, { skipLibCheck: true, lib: ["es2022", "esnext.disposable", "dom"] });
});

test.run();
