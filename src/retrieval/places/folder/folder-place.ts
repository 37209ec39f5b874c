/** An index in a folder (index/). */

import { readFile, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { createOutputDirectory } from "../../../io/create-directory.ts";
import { inputErrorFrom, isMissing } from "../../../io/errors.ts";
import { whileLocked } from "../../../io/lock.ts";
import { replaceFile } from "../../../io/replace-file.ts";
import { findManifest, manifestPath, readManifest } from "../../index/format/manifest.ts";
import { findAlive } from "../../index/format/segment.ts";
import { openSnapshot } from "../../index/format/snapshot.ts";
import { folderInfo } from "../../index/maintain/info.ts";
import { addPassages, deleteFromFolder } from "../../index/maintain/update.ts";
import { verifyFolder } from "../../index/maintain/verify.ts";
import { bitsOption } from "../../index/write/automatic-bits.ts";
import { buildIndex } from "../../index/write/build.ts";
import { forecastBuild } from "../../index/write/forecast.ts";
import { checkOwn, checkReplaceable } from "../../index/write/transaction.ts";
import type { IndexReader, Place, PlaceOptions } from "../place.ts";
import { openFolder } from "./open-folder.ts";

export function folderPlace(path: string, { from, wait, signal }: PlaceOptions): Place {
  const directory = from === undefined ? path : resolve(from, path);
  const writing = { directory, wait, signal };
  const syncFolder = join(directory, "sync"); // the record and the lock of a synchronisation
  const recordPath = join(syncFolder, "record.json");
  return {
    address: directory,
    name: directory,
    folder: {
      forecast: (passages, options) => forecastBuild(passages, { ...options, ...writing }),
      changeTime: async () => (await stat(manifestPath(directory))).mtime.toISOString(),
    },
    find: () => findManifest(directory),
    header: async () => (await readManifest(directory)).header,
    open: (options) => openFolder(directory, options),
    info: () => folderInfo(directory),
    verify: () => verifyFolder(directory, signal),
    checkReplaceable: ({ replace = false }) => checkReplaceable(directory, replace),
    build: (passages, options) =>
      buildIndex(passages, { ...options, ...writing, bits: bitsOption(options) }),
    async add(passages, options) {
      const { deleted = [], labels = [] } = options;
      if (passages || labels.length > 0) await addPassages(passages, { ...options, ...writing });
      else await deleteFromFolder(deleted, writing);
    },
    delete: (ids) => deleteFromFolder(ids, writing),
    checkPassage() {},
    read: () => openReader(directory),
    record: () => readRecord(recordPath),
    async writeRecord(text) {
      await createOutputDirectory(syncFolder);
      await replaceFile(recordPath, (file) => file.writeFile(text));
    },
    async exclusively(work) {
      await checkOwn(directory);
      await createOutputDirectory(syncFolder);
      return whileLocked(syncFolder, { wait, signal }, work);
    },
    async [Symbol.asyncDispose]() {},
  };
}

async function openReader(directory: string): Promise<IndexReader> {
  const snapshot = await openSnapshot(directory);
  const { segments } = snapshot;
  return {
    async find(id) {
      const found = await findAlive(segments, id);
      return found && segments[found.position]!.passage(found.ordinal);
    },
    async *passages() {
      for (const segment of segments)
        for (let ordinal = 0; ordinal < segment.record.passages; ordinal++)
          if (segment.isAlive(ordinal)) yield await segment.passage(ordinal);
    },
    [Symbol.asyncDispose]: () => snapshot[Symbol.asyncDispose](),
  };
}

async function readRecord(path: string): Promise<string | undefined> {
  return readFile(path, "utf8").catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw inputErrorFrom(error, {
      where: path,
      expected: "to be able to read the record of the folder",
      remedy: "check the disk and the permissions of the file",
    });
  });
}
