import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { findManifest } from "../../../../src/retrieval/index/format/manifest.ts";
import { verifyIndex } from "../../../../src/retrieval/maintain.ts";
import { openIndex } from "../../../../src/retrieval/open-index.ts";
import { build, encodeText, naiveSearch, sameBytes, temporary } from "../../support.ts";
import { checkStates } from "../../toy-states.ts";
import { advance, contentsOf, HOLDING_STATES } from "../maintain/generations.ts";
import { compileScript } from "./compile-script.ts";

/** About 0.5 s each. `KILLS=400 npx tsx test/retrieval/index/write/crash.test.ts` runs longer. */
const KILLS = Number(process.env.KILLS ?? 16);

test(`survives ${KILLS} kills at random moments`, async () => {
  await using directory = await temporary();
  const script = await compileScript(
    "test/retrieval/index/write/endless-builder.ts",
    join(directory.path, "compiled"),
  );
  const round = await timeOfRound(join(directory.path, "timed"));
  const index = join(directory.path, "index");
  let generation = 0;
  for (let kill = 0; kill < KILLS; kill++) {
    const child = await startBuilder(script, index);
    await sleep(Math.random() * round);
    child.kill("SIGKILL");
    await once(child, "exit");
    generation = await checkWhole(index, generation);
  }
  assert.ok(generation > 0, "nothing was finished between the kills");
  do {
    await advance(index, generation + 1);
    generation = await checkWhole(index, generation + 1);
  } while (generation % 4 !== 1);
  await using fresh = await temporary();
  await build(fresh.path, contentsOf(generation), HOLDING_STATES);
  await sameBytes(index, fresh.path); // the same as a build without kills
});

/** Milliseconds for four generations on this machine. */
async function timeOfRound(directory: string): Promise<number> {
  const start = performance.now();
  for (let generation = 1; generation <= 4; generation++) await advance(directory, generation);
  return performance.now() - start;
}

async function startBuilder(script: string, index: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, [script, index], { stdio: ["pipe", "pipe", "inherit"] });
  await once(child.stdout, "data");
  return child;
}

/** Checks that the index is complete and has the content of its generation, which it returns. */
async function checkWhole(directory: string, atLeast: number): Promise<number> {
  const manifest = await findManifest(directory);
  if (!manifest) return atLeast;
  const { generation } = manifest;
  assert.ok(generation >= atLeast, `generation ${generation} after ${atLeast}`);
  assert.equal(await verifyIndex(directory), []);
  const contents = contentsOf(generation);
  const keys = contents.map(({ text }) => encodeText(text));
  await using index = await openIndex(directory);
  assert.is(index.passageCount, contents.length);
  await checkStates(index);
  const question = encodeText(`w${generation % 50} w7 w23`);
  const hits = await index.search(question, { topK: 50 });
  const expected = naiveSearch(question, keys, 50).map(({ ordinal }) => contents[ordinal]!);
  assert.equal(await index.passages(hits.map(({ ordinal }) => ordinal)), expected);
  return generation;
}

test.run();
