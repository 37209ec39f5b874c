/**
 * The keys of a window that is being encoded. They become durable every second, so an interrupted
 * build does not encode the window from its start again.
 *
 * The encoder groups the passages of a window by length, so the keys of a group belong to passages
 * anywhere in the window. The file holds the groups one after the other; the journal (journal.ts)
 * names their passages. A resumed build encodes only the other groups. The groups of a window are
 * always the same, so its keys are too.
 */

import { join } from "node:path";
import { readJournal } from "../format/journal.ts";
import { viewBytes } from "../format/new-files.ts";
import { writing } from "../format/storage.ts";
import { type GrowingFiles, openGrowingFiles } from "./growing-files.ts";

/** Milliseconds between two syncs. A window that takes less is not written here. */
const SYNC_MS = 1000;

const FILE = "keys.f32";

interface GroupState {
  /** The positions of the passages in the window, and the number of values of each. */
  readonly positions: readonly number[];
  readonly lengths: readonly number[];
}

type KeyFiles = GrowingFiles<typeof FILE, GroupState>;

/** What an encoder needs to continue an interrupted window. */
export interface EncodedKeys {
  /** The keys that an interrupted build has encoded, by position in the window. */
  readonly known: ReadonlyMap<number, Float32Array>;
  /** Adds the keys of the passages at `positions`. Call it with whole groups. */
  add(positions: readonly number[], keys: readonly Float32Array[]): void;
}

export interface PartialWindow extends EncodedKeys, AsyncDisposable {
  /** Makes all keys durable. */
  save(): Promise<void>;
}

/**
 * Opens the partial window in the segment folder `path`. `plan` identifies the window: keys of
 * another one are ignored.
 */
export async function openPartialWindow(path: string, plan: object): Promise<PartialWindow> {
  const folder = join(path, "window");
  const known = new Map<number, Float32Array>();
  let files: KeyFiles | undefined;
  if ((await readJournal(folder, plan)).length > 0) {
    files = await openGrowingFiles(folder, [FILE], plan);
    await readKeys(files, known);
  }
  let pending: { positions: readonly number[]; keys: readonly Float32Array[] }[] = [];
  let synced = performance.now();
  let running: Promise<void> | undefined;
  let failure: unknown;
  const write = (): Promise<void> =>
    writing(path, async () => {
      const groups = pending;
      pending = [];
      files ??= await openGrowingFiles<typeof FILE, GroupState>(folder, [FILE], plan);
      const keys = groups.flatMap((group) => group.keys);
      const positions = groups.flatMap((group) => group.positions);
      const lengths = keys.map(({ length }) => length);
      await files.append({ [FILE]: Buffer.concat(keys.map(viewBytes)) }, { positions, lengths });
    });
  /** Writes in the background, so that the encoder does not wait for the disk. */
  const start = (): void => {
    running = write()
      .catch((error: unknown) => {
        failure ??= error;
      })
      .finally(() => {
        running = undefined;
        synced = performance.now();
      });
  };
  return {
    known,
    add(positions, keys) {
      if (failure) throw failure;
      pending.push({ positions, keys });
      if (!running && performance.now() - synced >= SYNC_MS) start();
    },
    async save() {
      await running;
      if (!failure && pending.length > 0) await write();
    },
    async [Symbol.asyncDispose]() {
      await running;
      await files?.[Symbol.asyncDispose]();
    },
  };
}

async function readKeys(files: KeyFiles, known: Map<number, Float32Array>): Promise<void> {
  let at = 0;
  for (const { positions, lengths } of files.resumePoints)
    for (const [i, position] of positions.entries()) {
      const { buffer } = await files.read(FILE, at, 4 * lengths[i]!);
      known.set(position, new Float32Array(buffer as ArrayBuffer, 0, lengths[i]));
      at += 4 * lengths[i]!;
    }
}
