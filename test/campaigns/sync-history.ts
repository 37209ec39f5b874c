/**
 * Faults while an index is synchronised with a folder. After each of them the index must be whole
 * and hold the passages of one state of the folder, and the next synchronisation must make it equal
 * to the folder, in whatever state the folder is by then.
 */

import { mkdir, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import * as assert from "uvu/assert";
import { readDocuments } from "../../src/documents/read-documents.ts";
import type { ReAtt } from "../../src/reatt.ts";
import { findManifest } from "../../src/retrieval/index/format/manifest.ts";
import { verifyIndex } from "../../src/retrieval/maintain.ts";
import type { Passage } from "../../src/text/passage.ts";
import { Failed } from "./campaign.ts";
import type { History } from "./histories.ts";

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

/** A folder of documents and its index. */
export interface FolderStates {
  readonly folder: string;
  readonly directory: string;
  readonly count: number;
  /** Gives the folder the files of a state. */
  write(state: number): Promise<void>;
  /** The passages of the index, which must be whole; undefined if there is none. */
  indexed(): Promise<readonly Passage[] | undefined>;
  /** Whether these are the passages of a state that was written. */
  areThose(passages: readonly Passage[], state: number): boolean;
  /** Writes the state, synchronises, and checks that index and record are those of the folder. */
  repair(state: number): Promise<void>;
}

/** Opens folders whose indexes and records are in `parent`. */
export function folderStates(model: ReAtt) {
  const passages: (readonly Passage[])[] = [];
  return (parent: string, folder: string = join(parent, "documents")): FolderStates => {
    const directory = join(parent, "new", "index");
    const write = async (state: number): Promise<void> => {
      await writeDocuments(folder, STATES[state]!, state);
      passages[state] ??= await passagesOf(folder, model);
    };
    return {
      ...{ folder, directory, count: STATES.length, write },
      indexed: () => indexed(directory, model),
      areThose: (found, state) => JSON.stringify(found) === JSON.stringify(passages[state]),
      async repair(state) {
        await write(state);
        await model.sync(folder, { directory, delete: true });
        assert.equal(await indexed(directory, model), passages[state]);
        const { changes } = await model.sync(folder, { directory, delete: true });
        assert.equal(changes, [], "the record is not that of the folder");
      },
    };
  };
}

export function syncHistory(model: ReAtt): History {
  let repairs = 0;
  const open = folderStates(model);
  // The folder is the same for the recording and the checks: the record of an index names it.
  const at = (root: string) => open(root, join(dirname(root), "documents"));
  return {
    name: "synchronisations",
    async run(root, done) {
      const { write, folder, directory, count } = at(root);
      for (let state = 0; state < count; state++) {
        await write(state);
        await model.sync(folder, { directory, delete: true });
        done();
      }
    },
    async check(root, done, resume) {
      const { count, indexed, areThose, repair } = at(root);
      const found = await indexed();
      let state = 0;
      if (found) {
        const all = Array.from({ length: count }, (_, i) => i);
        state = all.findIndex((i) => areThose(found, i)) + 1;
        assert.ok(state > 0, "the index has passages of no state of the folder");
        assert.ok(state <= done + 1, `state ${state} after ${done}`);
      }
      if (state < done) throw new Failed("lost", `state ${state} of the folder after ${done}`);
      // the folder can have changed before the next synchronisation
      if (resume) await repair(repairs++ % count);
      return state;
    },
  };
}

async function writeDocuments(folder: string, files: Files, state: number): Promise<void> {
  await mkdir(folder, { recursive: true });
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

async function indexed(directory: string, model: ReAtt): Promise<Passage[] | undefined> {
  if (!(await findManifest(directory))) return undefined;
  assert.equal(await verifyIndex(directory), []);
  await using index = await model.openIndex(directory, { preset: "exact" });
  const found: Passage[] = [];
  for await (const [, passage] of index.entries()) found.push(passage);
  return found.sort(byId);
}

const byId = (a: Passage, b: Passage) => (a.id < b.id ? -1 : 1);
