/**
 * The keys and states of a window that is being encoded. They become durable every second, so an
 * interrupted build does not encode the window from its start again.
 *
 * The encoder groups the passages of a window by length, so the keys of a group belong to passages
 * anywhere in the window. The files hold the groups one after the other; the journal (journal.ts)
 * names their passages. A resumed build encodes only the other groups. The groups of a window are
 * always the same, so its keys are too.
 */

import { join } from "node:path";
import { writing } from "../blocks/storage.ts";
import { readJournal } from "../format/journal.ts";
import { viewBytes } from "../format/new-files.ts";
import { type GrowingFiles, openGrowingFiles } from "./growing-files.ts";

/** Milliseconds between two syncs. A window that takes less is not written here. */
const SYNC_MS = 1000;

const FILES = ["keys.f32", "states.bin"] as const;

interface GroupState {
  /** The positions of the passages in the window, and the sizes of each in both files. */
  readonly positions: readonly number[];
  readonly keyBytes: readonly number[];
  readonly stateBytes: readonly number[];
}

type WindowFiles = GrowingFiles<(typeof FILES)[number], GroupState>;

/** The keys and states of some passages. */
interface Group {
  readonly positions: readonly number[];
  readonly keys: readonly Float32Array[];
  readonly states: readonly Uint8Array[];
}

/** What an encoder needs to continue an interrupted window. */
export interface EncodedKeys {
  /** The keys that an interrupted build has encoded, by position in the window. */
  readonly known: ReadonlyMap<number, Float32Array>;
  /**
   * Adds the keys of the passages at `positions`, and their packed states (packed-states.ts) if the
   * index holds states. Call it with whole groups.
   */
  add(
    positions: readonly number[],
    keys: readonly Float32Array[],
    states?: readonly Uint8Array[],
  ): void;
}

export interface PartialWindow extends EncodedKeys, AsyncDisposable {
  /** The packed states by position in the window: those of an interrupted build, and added ones. */
  readonly states: ReadonlyMap<number, Uint8Array>;
  /** Makes everything durable. */
  save(): Promise<void>;
}

/**
 * Opens the partial window in the segment folder `path`. `plan` identifies the window: keys of
 * another one are ignored.
 */
export async function openPartialWindow(path: string, window: object): Promise<PartialWindow> {
  const folder = join(path, "window");
  const plan = { ...window, files: FILES }; // an earlier reatt wrote others
  const known = new Map<number, Float32Array>();
  const states = new Map<number, Uint8Array>();
  let files: WindowFiles | undefined;
  if ((await readJournal(folder, plan)).length > 0) {
    files = await openGrowingFiles(folder, FILES, plan);
    await readGroups(files, known, states);
  }
  let pending: Group[] = [];
  let synced = performance.now();
  let running: Promise<void> | undefined;
  let failure: unknown;
  const write = (): Promise<void> =>
    writing(path, async () => {
      const groups = pending;
      pending = [];
      files ??= await openGrowingFiles<(typeof FILES)[number], GroupState>(folder, FILES, plan);
      const keys = groups.flatMap((group) => group.keys.map(viewBytes));
      const packed = groups.flatMap((group) => group.states);
      await files.append(
        { "keys.f32": keys, "states.bin": packed },
        {
          positions: groups.flatMap((group) => group.positions),
          keyBytes: keys.map(({ length }) => length),
          stateBytes: packed.map(({ length }) => length),
        },
      );
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
    states,
    add(positions, keys, added = []) {
      if (failure) throw failure;
      pending.push({ positions, keys, states: added });
      for (const [i, packed] of added.entries()) states.set(positions[i]!, packed);
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

async function readGroups(
  files: WindowFiles,
  known: Map<number, Float32Array>,
  states: Map<number, Uint8Array>,
): Promise<void> {
  let keyStart = 0;
  let stateStart = 0;
  for (const { positions, keyBytes, stateBytes } of files.resumePoints)
    for (const [i, position] of positions.entries()) {
      const keys = await files.read("keys.f32", keyStart, keyBytes[i]!);
      known.set(position, new Float32Array(keys.buffer as ArrayBuffer, 0, keyBytes[i]! / 4));
      keyStart += keyBytes[i]!;
      if (stateBytes[i] === undefined) continue; // the index holds no states
      states.set(position, await files.read("states.bin", stateStart, stateBytes[i]));
      stateStart += stateBytes[i];
    }
}
