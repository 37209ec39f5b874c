/**
 * Installs the package as a user would, and runs the first example of the README:
 * `tsx scripts/check-install.ts`.
 *
 * The package is packed and installed by npm into a new project, from the registry alone: a fake
 * `nvcc` pretends that there is a CUDA toolkit, and no library of CUDA may be downloaded. Then the
 * first `js` block of README.md runs in the project. A comment after `console.log(...);` is what
 * the line must print. The last line is `N passed, N failed`.
 */

import { execFileSync } from "node:child_process";
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
import { delimiter, join } from "node:path";

const folder = mkdtempSync(join(tmpdir(), "reatt-install-"));
const project = join(folder, "project");
let passed = 0;
let failed = 0;

check("the package is installed", install);
check("no library of CUDA is downloaded", () => {
  const runtime = join(project, "node_modules", "onnxruntime-node", "bin");
  const files = readdirSync(runtime, { recursive: true, encoding: "utf8" });
  const [cuda] = files.filter((name) => name.includes("providers_cuda"));
  if (cuda !== undefined) throw new Error(`${cuda} was downloaded`);
});
check("optional packages are not installed", () => {
  for (const name of ["faiss-node", "@tensorflow/tfjs-node-gpu", "@langchain/core", "ai"])
    if (existsSync(join(project, "node_modules", name))) throw new Error(`${name} is there`);
});
check("the command runs", () => {
  const { version } = JSON.parse(readFileSync("package.json", "utf8"));
  const printed = run("npx", "reatt", "--version").trim();
  if (printed !== version) throw new Error(`expected ${version}, got ${printed}`);
});
check("the first example of README.md prints what its comments say", () => {
  const [, code] = /^```js\n(.*?)^```$/ms.exec(readFileSync("README.md", "utf8")) ?? [];
  const expected = [...code!.matchAll(/^console\.log\(.*\); \/\/ (.*)$/gm)].map(([, line]) => line);
  if (expected.length === 0) throw new Error("the example prints nothing");
  writeFileSync(join(project, "example.mjs"), code!);
  const printed = run(process.execPath, "example.mjs").trimEnd().split("\n");
  if (printed.join("\n") !== expected.join("\n"))
    throw new Error(`expected ${expected.join("\n")}, got ${printed.join("\n")}`);
});

rmSync(folder, { recursive: true });
console.log(`\n${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

function install(): void {
  const pack = ["pack", "--loglevel=error", "--pack-destination", folder];
  execFileSync("npm", pack, { stdio: ["ignore", "ignore", "inherit"] });
  const [tarball] = readdirSync(folder).filter((name) => name.endsWith(".tgz"));
  mkdirSync(join(project, "bin"), { recursive: true });
  const nvcc = "#!/bin/sh\necho 'Cuda compilation tools, release 12.6, V12.6.20'\n";
  writeFileSync(join(project, "bin", "nvcc"), nvcc, { mode: 0o755 });
  writeFileSync(join(project, "package.json"), '{ "name": "project", "private": true }\n');
  run("npm", "install", "--no-audit", "--no-fund", "--loglevel=error", join(folder, tarball!));
}

/** Runs a program in the project, without the settings that npm gives to the scripts it runs. */
function run(program: string, ...args: string[]): string {
  const own = Object.entries(process.env).filter(([name]) => !/^npm_|onnxruntime/i.test(name));
  const path = [join(project, "bin"), process.env.PATH].join(delimiter);
  return execFileSync(program, args, {
    cwd: project,
    encoding: "utf8",
    env: { ...Object.fromEntries(own), PATH: path },
  });
}

function check(name: string, work: () => void): void {
  try {
    work();
    passed++;
    console.log(`ok    ${name}`);
  } catch (error) {
    failed++;
    console.log(`FAIL  ${name}: ${(error as Error).message}`);
  }
}
