/** Lists the models that can be loaded without a download. */

import { readdir, readFile, stat } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { isMissing } from "../io/errors.ts";
import { repositoryOf } from "./cache.ts";
import { isComplete } from "./model-files.ts";
import { EMBEDDED_MODEL, hubName } from "./model-name.ts";
import { readHubSettings } from "./settings.ts";

export interface AvailableModel {
  /** The name that loads it. Undefined for the embedded model, which is loaded without a name. */
  readonly name: string | undefined;
  readonly folder: string;
  readonly bytes: number;
}

/** The embedded model, then the models in the cache of the hub that reatt can read, by name. */
export async function availableModels(): Promise<AvailableModel[]> {
  const { cache } = await readHubSettings();
  const models = [{ name: undefined, folder: EMBEDDED_MODEL, bytes: await sizeOf(EMBEDDED_MODEL) }];
  const names = await namesIn(cache);
  const cached = await Promise.all(names.sort().map((name) => modelsOf(join(cache, name))));
  return [...models, ...cached.flat()];
}

/** The complete snapshots of a repository, by each of their names. */
async function modelsOf(folder: string): Promise<AvailableModel[]> {
  const repository = repositoryOf(folder);
  if (repository === undefined) return [];
  const refs = await readRefs(join(folder, "refs"));
  const models: AvailableModel[] = [];
  for (const commit of await namesIn(join(folder, "snapshots"))) {
    const snapshot = join(folder, "snapshots", commit);
    if (!(await isComplete(snapshot))) continue;
    const bytes = await sizeOf(snapshot);
    for (const revision of refs.get(commit) ?? [commit])
      models.push({ name: hubName({ repository, revision }), folder: snapshot, bytes });
  }
  return models;
}

/** The branches and tags of each commit. The name of a ref can have slashes. */
async function readRefs(folder: string): Promise<Map<string, string[]>> {
  const refs = new Map<string, string[]>();
  const entries = await missingAsEmpty(readdir(folder, { recursive: true, withFileTypes: true }));
  for (const entry of entries) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const commit = (await readFile(path, "utf8")).trim();
    const name = relative(folder, path).replaceAll(sep, "/");
    refs.set(commit, [...(refs.get(commit) ?? []), name]);
  }
  return refs;
}

async function sizeOf(folder: string): Promise<number> {
  const sizes = (await readdir(folder)).map(async (name) => (await stat(join(folder, name))).size);
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

const namesIn = (folder: string): Promise<string[]> => missingAsEmpty(readdir(folder));

const missingAsEmpty = <Entry>(entries: Promise<Entry[]>): Promise<Entry[]> =>
  entries.catch((error: unknown) => {
    if (isMissing(error)) return [];
    throw error;
  });
