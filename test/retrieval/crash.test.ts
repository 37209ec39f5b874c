import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { findManifest } from "../../src/retrieval/manifest.ts";
import { openIndex } from "../../src/retrieval/open.ts";
import { verifyIndex } from "../../src/retrieval/verify.ts";
import { build, makePassages, sameBytes, temporary } from "./support.ts";

/** Some 0.2 s each; `KILLS=400 npx tsx test/retrieval/crash.test.ts` for a long look. */
const KILLS = Number(process.env.KILLS ?? 40);

test(`survives ${KILLS} kills at random moments`, async () => {
  await using directory = await temporary();
  const script = await compileBuilder(join(directory.path, "compiled"));
  const index = join(directory.path, "index");
  let generation = 0;
  for (let kill = 0; kill < KILLS; kill++) {
    const child = await startBuilder(script, index);
    await sleep(Math.random() * 120);
    child.kill("SIGKILL");
    await once(child, "exit");
    generation = await checkWhole(index, generation);
  }
  await build(index, makePassages(1600, generation + 1)); // goes on with whatever the last kill left
  assert.is(await checkWhole(index, generation), generation + 1);
  await using fresh = await temporary();
  await build(fresh.path, makePassages(1600, generation + 1));
  await sameBytes(index, fresh.path);
  assert.ok(generation > 0, "no build was finished between the kills");
});

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Compiles the builder once, so that starting it is quick. Returns the path of the script. */
async function compileBuilder(directory: string): Promise<string> {
  const compiler = join(
    dirname(createRequire(import.meta.url).resolve("typescript/package.json")),
    "bin",
    "tsc",
  );
  const source = join(ROOT, "test/retrieval/endless-builder.ts");
  const options =
    "--ignoreConfig --noCheck --target es2022 --module nodenext --rewriteRelativeImportExtensions --types node";
  execFileSync(process.execPath, [
    compiler,
    ...options.split(" "),
    "--rootDir",
    ROOT,
    "--outDir",
    directory,
    source,
  ]);
  await writeFile(join(directory, "package.json"), '{ "type": "module" }');
  await symlink(join(ROOT, "node_modules"), join(directory, "node_modules"));
  return join(directory, "test/retrieval/endless-builder.js");
}

async function startBuilder(script: string, index: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, [script, index], { stdio: ["ignore", "pipe", "inherit"] });
  await once(child.stdout, "data");
  return child;
}

/** The index is whole, and holds what its generation held when it was built. Returns the generation. */
async function checkWhole(directory: string, atLeast: number): Promise<number> {
  const manifest = await findManifest(directory);
  if (!manifest) return atLeast;
  const { generation } = manifest;
  assert.ok(generation >= atLeast, `generation ${generation} after ${atLeast}`);
  assert.equal(await verifyIndex(directory), []);
  const passages = makePassages(1600, generation);
  await using index = await openIndex(directory);
  assert.equal(await index.passages([0, 800, 1599]), [passages[0], passages[800], passages[1599]]);
  return generation;
}

test.run();
