/** `reatt status`: what of each collection is indexed, how old that is, and what failed. */

import { formatBytes } from "../../io/format-bytes.ts";
import { placeOf } from "../../retrieval/places/place-of.ts";
import { compareFolder } from "../../sync/compare.ts";
import { readRecord } from "../../sync/record.ts";
import { named } from "../collections/collection-values.ts";
import { type Collection, type Config, findConfig, printable } from "../collections/collections.ts";
import { checkAccepted } from "../collections/trust.ts";
import { defineCommand } from "../line/command.ts";
import { JSON_LINES } from "../shared/file-options.ts";
import { UsageError } from "../shared/usage-error.ts";

interface Status {
  readonly name: string;
  readonly description?: string | undefined;
  readonly path: string;
  readonly index: string;
  /** Undefined without an index. */
  readonly indexed?: IndexedState;
  /** Files that differ from the index. */
  readonly changed: number;
  readonly removed: number;
  /** Why files could not be read, or only in part, by their paths. */
  readonly failed: Readonly<Record<string, string>>;
}

interface IndexedState {
  readonly files: number;
  readonly passages: number;
  readonly bytes: number;
  /** The time of the last change, in ISO 8601; a store does not tell. */
  readonly at?: string;
}

export const statusCommand = defineCommand({
  options: { json: JSON_LINES },
  operands: {
    placeholder: "NAME,...",
    help: "collections; without them, all of reatt.config.json",
  },
  example: "reatt status",
  async run({ json }, signal, operands) {
    const config = await findConfig();
    if (!config) throw new UsageError("there is no reatt.config.json; reatt init writes one");
    const names = operands.flatMap((operand) => operand.split(","));
    const chosen = names.length === 0 ? config.collections : names.map(collectionIn(config));
    await checkAccepted(config, signal);
    for (const collection of chosen) {
      const status = await statusOf(collection, signal);
      process.stdout.write(json ? `${JSON.stringify(status)}\n` : describe(status));
    }
  },
});

const collectionIn =
  (config: Config) =>
  (name: string): Collection => {
    const collection = named(config, name);
    if (collection) return collection;
    throw new UsageError(`${name}: no collection of ${config.file}`);
  };

async function statusOf(
  { name, description, path, index, include, ignore }: Collection,
  signal: AbortSignal,
): Promise<Status> {
  await using place = placeOf(index, { signal });
  const isBuilt = (await place.find()) !== undefined;
  const record = isBuilt ? await readRecord(place) : undefined;
  const known = new Map(Object.entries(record?.files ?? {}));
  const comparison = await compareFolder(path, index, known, { include, ignore, signal });
  const failed = record?.failed ?? {};
  // a file that could not be read is no news; one that was read in part can change
  const changed = comparison.changed.filter(
    ({ name }) => failed[name] === undefined || known.get(name)?.hash !== undefined,
  );
  const shared = { name, description, path, index, failed };
  const counts = { changed: changed.length, removed: comparison.removed.length };
  if (!isBuilt) return { ...shared, ...counts };
  const { passages, bytes } = await place.info();
  const at = place.folder && { at: await place.folder.changeTime() };
  return { ...shared, ...counts, indexed: { files: known.size, passages, bytes, ...at } };
}

function describe({ name, description, path, indexed, changed, removed, failed }: Status): string {
  const lines = [`${name}${description === undefined ? "" : `: ${description}`}`, `  ${path}`];
  if (indexed) {
    const { files, passages, bytes, at } = indexed;
    const changedAt = at === undefined ? "" : `, changed ${at}`;
    lines.push(`  files: ${files}, passages: ${passages}, ${formatBytes(bytes)}${changedAt}`);
  } else lines.push("  not indexed yet");
  lines.push(
    changed + removed === 0
      ? "  up to date"
      : `  new or changed: ${changed}, gone: ${removed}; run reatt sync ${name}`,
  );
  for (const [file, problem] of Object.entries(failed)) lines.push(`  failed: ${file}: ${problem}`);
  return `${lines.map(printable).join("\n")}\n`;
}
