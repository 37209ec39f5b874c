/** Changes an index from one whole state to the next. Why a crash cannot break it is in manifest.ts. */

import { access, mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { InputError } from "../../../io/errors.ts";
import { journalPath } from "../format/journal.ts";
import {
  codebookPath,
  type FileRecord,
  findManifest,
  type Manifest,
  segmentName,
  segmentPath,
  writeManifest,
} from "../format/manifest.ts";
import { writing } from "../format/storage.ts";
import { lockDirectory } from "./lock.ts";

/** What a change decides about the next state. */
export type NextState = Pick<Manifest, "header" | "codec" | "shard" | "segments">;

const STAGE = ".stage";

/** Where the float32 keys of a segment wait until they are compressed. */
export const stageName = (segment: string): string => `${segment}${STAGE}`;

/** Where the compressed keys of added passages wait until they are in a segment. */
export const addedName = (segment: string): string => `${segment}.added`;

/**
 * Locks `directory`, lets `change` write new files beside the old, makes what it returns the state of the index, and
 * removes what does not belong to that. `change` is given the manifest, if there is one, and the name for what it writes;
 * where it throws, the state stays as it was. With `replaceDamaged` a damaged manifest counts as none.
 */
export async function runTransaction(
  directory: string,
  { replaceDamaged = false }: { replaceDamaged?: boolean },
  change: (current: Manifest | undefined, name: string) => Promise<NextState>,
): Promise<Manifest> {
  await writing(directory, async () => {
    for (const folder of ["segments", "codebooks"])
      await mkdir(join(directory, folder), { recursive: true });
  });
  await using lock = await writing(directory, () => lockDirectory(directory));
  const current = await findManifest(directory).catch((error: unknown) => {
    if (!(replaceDamaged && error instanceof InputError)) throw error;
    return undefined;
  });
  const generation = current ? current.generation + 1 : await firstGeneration(directory);
  const name = segmentName(generation);
  if (current) await writing(directory, () => clean(directory, current, name));
  const state = await change(current, name);
  const next: Manifest = { ...state, format: "reatt-index", version: 1, generation };
  await lock.assertHeld();
  await writing(directory, async () => {
    await writeManifest(directory, next);
    await clean(directory, next);
  });
  return next;
}

/** The number of the first state where no manifest says one: above all that were, or of the build that was interrupted. */
async function firstGeneration(directory: string): Promise<number> {
  const last = (await readdir(join(directory, "segments"))).sort().at(-1);
  if (last === undefined) return 1;
  const interrupted =
    last.endsWith(STAGE) ||
    (await access(journalPath(segmentPath(directory, last))).then(
      () => true,
      () => false,
    ));
  return Number.parseInt(last, 10) + (interrupted ? 0 : 1);
}

/** Removes what belongs neither to `manifest` nor to the change called `pending`. */
async function clean(
  directory: string,
  { segments, codec }: Manifest,
  pending?: string,
): Promise<void> {
  const kept = segments.map(({ name }) => name);
  if (pending !== undefined) kept.push(pending, stageName(pending), addedName(pending));
  for (const name of await readdir(join(directory, "segments")))
    if (!kept.includes(name)) await rm(segmentPath(directory, name), { recursive: true });
  for (const name of await readdir(join(directory, "codebooks"))) {
    const path = codebookPath(directory, name);
    if (codec.name === "quantised" && name === codec.codebook) await keepOnly(path, codec.files);
    else if (name !== pending) await rm(path, { recursive: true });
  }
  for (const { name, files, deleted } of segments)
    await keepOnly(
      segmentPath(directory, name),
      deleted ? { ...files, [deleted.file]: deleted } : files,
    );
}

async function keepOnly(
  folder: string,
  files: Readonly<Record<string, FileRecord>>,
): Promise<void> {
  for (const name of await readdir(folder))
    if (!(name in files)) await rm(join(folder, name), { recursive: true });
}
