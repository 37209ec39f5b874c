/**
 * Power cuts while an index is synchronised with a folder. After every cut the index must be whole
 * and hold the passages of one state of the folder, and the next synchronisation must make it equal
 * to the folder, in whatever state the folder is by then.
 */

import { mkdir, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import * as assert from "uvu/assert";
import { readDocuments } from "../../src/documents/read-documents.ts";
import type { ReAtt } from "../../src/reatt.ts";
import { findManifest } from "../../src/retrieval/index/format/manifest.ts";
import { verifyIndex } from "../../src/retrieval/index/maintain/verify.ts";
import type { Passage } from "../../src/text/passage.ts";
import type { History } from "./power-cut-histories.ts";
import { removeLocks } from "./remove-locks.ts";

/** The files of a folder by name. */
type Files = Readonly<Record<string, string>>;

const long = (sentences: number, word: string) =>
  `It is about ${word} here today. `.repeat(sentences);

/** Files are added, changed, emptied, removed and come back; one change only deletes. */
const STATES: readonly Files[] = [
  { "a.txt": long(45, "ants"), "b.md": "# Bees\n\nThey fly.\n\n# Wasps\n\nToo.", "c.txt": "cats" },
  { "a.txt": long(20, "ants"), "b.md": "# Bees\n\nThey fly.", "d.txt": "dogs" },
  { "a.txt": long(20, "ants"), "b.md": "# Bees\n\nThey hum.", "d.txt": "" },
  { "b.md": "# Bees\n\nThey hum.", "d.txt": "" },
  { "a.txt": long(45, "ants"), "b.md": "# Bees\n\nThey hum.", "c.txt": "cats", "e.txt": "eels" },
];

export function syncHistory(model: ReAtt): History {
  let repairs = 0;
  const contents: Passage[][] = [];
  const sync = (root: string) => model.sync(documentsOf(root), { directory: directoryOf(root) });
  return {
    name: "synchronisations",
    async run(root, done) {
      for (const state of STATES.keys()) {
        await writeDocuments(documentsOf(root), state);
        contents[state] = await passagesOf(documentsOf(root), model);
        await sync(root);
        done();
      }
    },
    async check(root, done, resume) {
      const directory = directoryOf(root);
      const found = await indexed(directory, model);
      const state = contents.findIndex((passages) => areEqual(passages, found)) + 1;
      if (found) {
        assert.ok(state > 0, "the index has passages of no state of the folder");
        assert.ok(state >= done && state <= done + 1, `state ${state} after ${done}`);
      } else assert.is(done, 0, "the index is gone");
      if (!resume) return state;
      // the folder can have changed before the next synchronisation
      const next = repairs++ % STATES.length;
      await writeDocuments(documentsOf(root), next);
      await removeLocks(directory);
      await removeLocks(join(directory, "sync"));
      await sync(root);
      assert.equal(await indexed(directory, model), contents[next]);
      assert.equal((await sync(root)).changes, [], "the record is not that of the folder");
      return state;
    },
  };
}

const directoryOf = (root: string): string => join(root, "new", "index");
/** The same folder for the recording and the checks: the record of an index names it. */
const documentsOf = (root: string): string => join(dirname(root), "documents");

async function writeDocuments(folder: string, state: number): Promise<void> {
  await mkdir(folder, { recursive: true });
  const files = STATES[state]!;
  for (const name of await readdir(folder)) if (!(name in files)) await rm(join(folder, name));
  for (const [name, text] of Object.entries(files)) {
    await writeFile(join(folder, name), text);
    const modified = 1_000_000_000 + state; // s; long ago, so that the record trusts it
    await utimes(join(folder, name), modified, modified);
  }
}

async function passagesOf(folder: string, { tokenizer }: ReAtt): Promise<Passage[]> {
  const passages: Passage[] = [];
  for await (const passage of readDocuments(folder, { tokenizer, onSkip: () => {} }))
    passages.push(passage);
  return passages.sort(byId);
}

/** The passages of the index, which must be whole; undefined if there is none. */
async function indexed(directory: string, model: ReAtt): Promise<Passage[] | undefined> {
  if (!(await findManifest(directory))) return undefined;
  assert.equal(await verifyIndex(directory), []);
  await using index = await model.openIndex(directory, { preset: "exact" });
  const found: Passage[] = [];
  for await (const [, passage] of index.entries()) found.push(passage);
  return found.sort(byId);
}

const byId = (a: Passage, b: Passage) => (a.id < b.id ? -1 : 1);

const areEqual = (a: readonly Passage[], b: readonly Passage[] | undefined): boolean =>
  JSON.stringify(a) === JSON.stringify(b);
