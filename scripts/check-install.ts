/**
 * Installs the package as a user would, and uses it: `tsx scripts/check-install.ts`.
 *
 * The package is packed and installed by npm into a new project, from the registry alone: a fake
 * `nvcc` pretends that there is a CUDA toolkit, and no library of CUDA may be downloaded. Then the
 * `js` blocks of README.md run in the project. A comment after `console.log(...);` is what the line
 * must print. The application of docs/APPLICATION.md answers, with Express. A program is
 * compiled and bundled as docs/DEPLOY.md says. At last, the installed command indexes a folder of
 * mixed documents, answers, serves and offers tools to the official client of MCP, and Chromium
 * asks on the page. The last line is `N passed, N failed`.
 */

import { execFileSync, spawn, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { writeMixedDocuments } from "../test/documents/mixed.ts";
import { hasChromium, launchChromium, withPage } from "../test/support/browser.ts";

const folder = mkdtempSync(join(tmpdir(), "reatt-install-"));
const project = join(folder, "project");
let passed = 0;
let failed = 0;
/** Asked after the folder of mixed documents. */
const QUESTION = "Who patented a steam engine in 1781?";
const ANSWER = "James Watt";

await check("the package is installed", install);
await check("no library of CUDA is downloaded", () => {
  const runtime = join(project, "node_modules", "onnxruntime-node", "bin");
  const files = readdirSync(runtime, { recursive: true, encoding: "utf8" });
  const [cuda] = files.filter((name) => name.includes("providers_cuda"));
  if (cuda !== undefined) throw new Error(`${cuda} was downloaded`);
});
await check("optional packages are not installed", () => {
  for (const name of ["faiss-node", "@tensorflow/tfjs-node-gpu", "@langchain/core", "ai"])
    if (existsSync(join(project, "node_modules", name))) throw new Error(`${name} is there`);
});
await check("links of packed documents lead to packed files", () => {
  const packed = join(project, "node_modules", "reatt");
  const pages = readdirSync(packed, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md") && !name.includes("node_modules"))
    .map((name) => join(packed, name));
  const argv = ["--import", "tsx", "scripts/check-links.ts", ...pages];
  const { status, stdout } = spawnSync(process.execPath, argv, { encoding: "utf8" });
  if (status !== 0) throw new Error(stdout);
});
await check("the command runs", () => {
  const { version } = JSON.parse(readFileSync("package.json", "utf8"));
  const printed = run("npx", "reatt", "--version").trim();
  if (printed !== version) throw new Error(`expected ${version}, got ${printed}`);
});
await check("the examples of README.md print what their comments say", () => {
  const blocks = blocksOf("README.md", "js");
  if (blocks.length === 0) throw new Error("there is none");
  const code = blocks.join("\n"); // the second one goes on with the first
  const shown = [...code.matchAll(/^ *console\.log\(.*\);(?: \/\/ (.*))?$/gm)];
  const expected = shown.map(([, comment]) => comment);
  if (expected.length === 0) throw new Error("they print nothing");
  writeFileSync(join(project, "example.mjs"), code);
  const printed = run(process.execPath, "example.mjs").trimEnd().split("\n");
  const isAsSaid = printed.every((line, i) => expected[i] === undefined || line === expected[i]);
  if (printed.length !== expected.length || !isAsSaid)
    throw new Error(`expected ${expected.join("\n")}, got ${printed.join("\n")}`);
});
await check("the application of docs/APPLICATION.md answers, refuses and stops", runApplication);

const PROGRAM = `
import { type Hit, ReAtt } from "reatt";

async function main(): Promise<void> {
  const model = await ReAtt.load();
  const passages = [{ id: "1", title: "James Watt", text: "He patented a steam engine." }];
  const best: Pick<Hit, "id" | "score"> = (await model.rerank("Who was it?", passages))[0]!;
  console.log(best.id);
  await model.close();
}
main();
`;
const REQUIRED = `
import reatt = require("reatt");

async function main(): Promise<void> {
  await using model = await reatt.ReAtt.load();
  console.log(model.config.vocabularySize > 0 ? 1 : 0);
}
main();
`;
await check("TypeScript reads the types", () => {
  writeFileSync(join(project, "program.mts"), PROGRAM);
  writeFileSync(join(project, "required.cts"), REQUIRED);
  compile("--module", "nodenext", "program.mts", "required.cts");
  compile("--module", "esnext", "--moduleResolution", "bundler", "program.mts");
});
await check("CommonJS requires the package", () => {
  compile("--module", "nodenext", "--noEmit", "false", "--outDir", "built", "required.cts");
  printsOne("built/required.cjs");
});
await check("esbuild leaves the package out of a bundle", () => {
  bundle("external.mjs", "--format=esm", "--packages=external");
  bundle("external.cjs", "--format=cjs", "--packages=external");
});
await check("a bundle with the package finds the weights", () =>
  bundle("whole.cjs", "--format=cjs", "--external:onnxruntime-node"),
);

await check("a folder of mixed documents is indexed", async () => {
  await writeMixedDocuments(join(project, "docs"));
  const args = ["reatt", "index", "--corpus", "docs", "--out", "indexed"];
  const { status, stderr } = spawnSync("npx", args, { ...inProject(), encoding: "utf8" });
  for (const expected of [
    /skipped .*oxygen\.pdf: .* package pdfjs-dist/,
    /skipped .*memory\.txt: expected text, got a binary file/,
    /skipped 1 of unknown format: logo\.png/,
    /Indexed 6 passages/,
  ])
    if (status !== 3 || !expected.test(stderr)) throw new Error(`no ${expected} in ${stderr}`);
});
await check("the command answers", () => {
  const args = ["reatt", "answer", "--index", "indexed", "--question", QUESTION, "--json"];
  const { answer, passages } = JSON.parse(run("npx", ...args));
  if (answer !== ANSWER || passages[0].metadata._source !== "steam.md")
    throw new Error(`${answer}, from ${passages[0].id}`);
});
await check("an assistant finds, quotes and reads over MCP", askOverMcp);
if (hasChromium) await check("the server answers in a browser", askInBrowser);

rmSync(folder, { recursive: true });
console.log(`\n${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

function install(): void {
  const pack = ["pack", "--ignore-scripts=false", "--loglevel=error", "--pack-destination", folder];
  execFileSync("npm", pack, { stdio: ["ignore", "ignore", "inherit"] });
  const [tarball] = readdirSync(folder).filter((name) => name.endsWith(".tgz"));
  mkdirSync(join(project, "bin"), { recursive: true });
  const nvcc = "#!/bin/sh\necho 'Cuda compilation tools, release 12.6, V12.6.20'\n";
  writeFileSync(join(project, "bin", "nvcc"), nvcc, { mode: 0o755 });
  writeFileSync(join(project, "package.json"), '{ "name": "project", "private": true }\n');
  run("npm", "install", "--no-audit", "--no-fund", "--loglevel=error", join(folder, tarball!));
}

/** The fenced blocks of a language, also those that examples of the API only check. */
function blocksOf(file: string, language: string): string[] {
  const fence = new RegExp(`^\`\`\`${language}(?: no-run)?\\n(.*?)^\`\`\`$`, "gms");
  return [...readFileSync(file, "utf8").matchAll(fence)].map(([, code]) => code!);
}

/** Runs the program of docs/APPLICATION.md over one document, on a port of its own. */
async function runApplication(): Promise<void> {
  run("npm", "install", "--no-audit", "--no-fund", "--loglevel=error", "express@5");
  const [code] = blocksOf("docs/APPLICATION.md", "js");
  const port = 49_152 + (process.pid % 16_384);
  const own = join(project, "application");
  mkdirSync(join(own, "docs"), { recursive: true });
  writeFileSync(join(own, "docs", "watt.txt"), "In 1781 James Watt patented a steam engine.");
  writeFileSync(join(own, "app.mjs"), code!.replace("listen(8080)", `listen(${port})`));
  const server = spawn(process.execPath, ["app.mjs"], {
    ...inProject(),
    cwd: own,
    stdio: "inherit",
  });
  const ended = new Promise<number | null>((resolve) => server.once("exit", resolve));
  const ask = (question: string) =>
    fetch(`http://127.0.0.1:${port}/answer?q=${encodeURIComponent(question)}`);
  try {
    let response: Response | undefined;
    while (!response && server.exitCode === null) {
      response = await ask(QUESTION).catch(() => undefined);
      if (!response) await new Promise((resolve) => setTimeout(resolve, 100));
    }
    const { answer, evidence } = (await response!.json()) as {
      answer: string;
      evidence: unknown[];
    };
    if (answer !== ANSWER || evidence.length === 0) throw new Error(`it answers ${answer}`);
    const { status } = await ask("");
    if (status !== 400) throw new Error(`no question has status ${status}`);
  } finally {
    server.kill();
  }
  const code0 = await ended;
  if (code0 !== 0) throw new Error(`the stopped server ended with code ${code0}`);
}

/** As docs/ASSISTANTS.md configures assistants: the command on standard input and output. */
async function askOverMcp(): Promise<void> {
  const [settings] = blocksOf("docs/ASSISTANTS.md", "json").filter((block) =>
    block.includes('"mcpServers"'),
  );
  const { command, args } = JSON.parse(settings!).mcpServers.documents;
  const given = args.map((argument: string) => argument.replace("INDEX", "indexed"));
  const client = new Client({ name: "check", version: "1.0.0" });
  const { cwd, env } = inProject();
  const variables = Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
  const started = { command: join(project, "node_modules/.bin", command), args: given };
  await client.connect(new StdioClientTransport({ ...started, cwd, env: variables }));
  try {
    const call = async (name: string, values: Record<string, unknown>) => {
      const { structuredContent } = await client.callTool({ name, arguments: values });
      return structuredContent as Record<string, string & { title: string }[]>;
    };
    const { answer } = await call("answer", { question: QUESTION });
    if (answer !== ANSWER) throw new Error(`the tool answers ${answer}`);
    const { passages } = await call("get", { path: "steam.md" });
    if (!passages?.some(({ title }) => title.includes("team"))) throw new Error("no document");
  } finally {
    await client.close();
  }
}

/** Checks the types of files of the project as a user would, who has @types/node. */
function compile(...args: string[]): void {
  const compiler = resolve("node_modules/typescript/bin/tsc");
  const types = ["--types", "node", "--typeRoots", resolve("node_modules/@types")];
  const target = ["--target", "es2022", "--lib", "es2023,esnext.disposable"];
  run(process.execPath, compiler, "--noEmit", "--strict", ...types, ...target, ...args);
}

/** Bundles the program of the project with esbuild, and runs it. */
function bundle(out: string, ...args: string[]): void {
  const esbuild = resolve("node_modules/.bin/esbuild");
  run(
    esbuild,
    "program.mts",
    "--bundle",
    "--platform=node",
    "--log-level=error",
    ...args,
    `--outfile=${out}`,
  );
  printsOne(out);
}

function printsOne(file: string): void {
  const printed = run(process.execPath, file).trim();
  if (printed !== "1") throw new Error(`expected 1, got ${printed}`);
}

/** Starts the server, asks on its page, and stops it. */
async function askInBrowser(): Promise<void> {
  const args = [
    "node_modules/reatt/dist/cli/main.js",
    "serve",
    "--index",
    "indexed",
    "--port",
    "0",
  ];
  const server = spawn(process.execPath, args, {
    ...inProject(),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = new Promise<number | null>((resolve) => server.once("exit", resolve));
  try {
    const url = await new Promise<string>((resolve, reject) => {
      let log = "";
      server.stderr.on("data", (text) => {
        log += text;
        const [, found] = /^Listening on (\S+)$/m.exec(log) ?? [];
        if (found !== undefined) resolve(found);
      });
      ended.then((code) => reject(new Error(`the server ended with code ${code}: ${log}`)));
    });
    const browser = await launchChromium();
    try {
      await withPage(browser, url, async (page) => {
        await page.fill("#question", QUESTION);
        await page.keyboard.press("Enter");
        await page.waitForSelector("#passages mark.match");
        const answer = (await page.textContent("#answer"))?.trim();
        if (answer !== ANSWER) throw new Error(`the page answers ${answer}`);
      });
    } finally {
      await browser.close();
    }
  } finally {
    server.kill();
  }
  const code = await ended;
  if (code !== 0) throw new Error(`the stopped server ended with code ${code}`);
}

/** Runs a program in the project. */
function run(program: string, ...args: string[]): string {
  return execFileSync(program, args, { ...inProject(), encoding: "utf8" });
}

/** The project, without the settings that npm gives to the scripts it runs. */
function inProject(): { readonly cwd: string; readonly env: NodeJS.ProcessEnv } {
  const own = Object.entries(process.env).filter(([name]) => !/^npm_|onnxruntime/i.test(name));
  const path = [join(project, "bin"), process.env.PATH].join(delimiter);
  return { cwd: project, env: { ...Object.fromEntries(own), PATH: path } };
}

async function check(name: string, work: () => void | Promise<void>): Promise<void> {
  try {
    await work();
    passed++;
    console.log(`ok    ${name}`);
  } catch (error) {
    failed++;
    console.log(`FAIL  ${name}: ${(error as Error).message}`);
  }
}
