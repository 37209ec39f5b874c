/**
 * A process for few-files.test.ts, which may open few files. It uses up all of them but a few,
 * then builds, opens and verifies a compressed index, with one more each time until nothing fails.
 * It prints the errors. An error that nobody handles ends it.
 */

import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { compactIndex } from "../../../src/retrieval/index/maintain/compact.ts";
import { addPassages } from "../../../src/retrieval/index/maintain/update.ts";
import { deletePassages, verifyIndex } from "../../../src/retrieval/maintain.ts";
import { openIndex } from "../../../src/retrieval/open-index.ts";
import { build, encodeText, encodeVaried, header, makePassages } from "../support.ts";

const folder = process.argv[2]!;
const passages = makePassages(60);
const added = makePassages(5, 2);
const options = { header, encode: encodeVaried };
const errors: string[] = [];

const WORK: Readonly<Record<string, (directory: string) => Promise<unknown>>> = {
  build: (directory) => build(directory, passages, { ...options, bits: 2 }),
  open: async (directory) => {
    await using index = await openIndex(directory);
    await index.search(encodeText("w1 w2"), { topK: 3 });
  },
  verify: async (directory) => {
    const damages = await verifyIndex(directory);
    if (damages.length > 0) throw new Error(`damaged: ${JSON.stringify(damages)}`);
  },
  add: (directory) => addPassages(added, { directory, ...options }),
  delete: (directory) => deletePassages(["p7"], { directory }),
  compact: (directory) => compactIndex(directory),
};

await runAll(join(folder, "warm"), Number.POSITIVE_INFINITY); // loads all modules
for (let spare = 0, failed = true; failed; spare++) {
  const before = errors.length;
  await runAll(join(folder, "index"), spare);
  failed = errors.length > before;
}
console.log(JSON.stringify(errors));

async function runAll(directory: string, spare: number): Promise<void> {
  for (const [what, work] of Object.entries(WORK)) {
    const held = await holdAllBut(spare);
    await work(directory).catch((error: Error) =>
      errors.push(`${what}, ${spare}: ${error.name}: ${error.message}`),
    );
    await Promise.all(held.map((file) => file.close()));
    if (spare < Number.POSITIVE_INFINITY)
      await work(directory).catch((error: Error) =>
        errors.push(`${what} afterwards: ${error.name}: ${error.message}`),
      );
  }
}

/** Opens files until no more can be opened, and then closes `spare` of them. */
async function holdAllBut(spare: number): Promise<FileHandle[]> {
  const held: FileHandle[] = [];
  if (spare === Number.POSITIVE_INFINITY) return held;
  for (;;) {
    const file = await open("/dev/null").catch(() => undefined);
    if (!file) break;
    held.push(file);
  }
  await Promise.all(held.splice(0, spare).map((file) => file.close()));
  return held;
}
