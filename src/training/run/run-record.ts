/**
 * The record of a run, in its folder: the options, so that the run can be resumed by its folder
 * alone, and the result of a complete one.
 */

import { readFile } from "node:fs/promises";
import { isAbsolute, join, relative } from "node:path";
import { z } from "zod";
import { InputError } from "../../io/errors.ts";
import { replaceFile } from "../../io/replace-file.ts";
import type { OptionTable } from "../../options/option.ts";
import { FILE_OPTIONS } from "../options/run-options.ts";
import { runFolder } from "./run-folder.ts";

/** What a run is a run of. */
export interface RunKind {
  /** A training, or an adaptation. */
  readonly name: "training" | "adaptation";
  /** The options that are recorded. */
  readonly options: OptionTable;
}

export interface RunRecord {
  readonly options: Readonly<Record<string, unknown>>;
  /** Undefined while the run is not complete. */
  readonly result?: unknown;
}

/** Options that say how to go on, and not what the run is. */
const UNRECORDED: ReadonlySet<string> = new Set(["out", "resume", "dryRun"]);

const fileOf = (folder: string, { name }: RunKind): string => join(folder, `${name}.json`);

const description = ({ name }: RunKind) =>
  z.object({
    format: z.literal(`reatt-${name}`),
    version: z.literal(1),
    options: z.record(z.string(), z.unknown()),
    result: z.unknown().optional(),
  });

/**
 * @param options with their defaults: those that depend on the speed of the machine are recorded
 * @throws {InputError} if the disk refuses
 */
export async function writeRunRecord(
  kind: RunKind,
  options: { readonly out: string },
  result?: unknown,
): Promise<void> {
  const values = Object.entries({ ...options }).filter(
    ([name, value]) => name in kind.options && !UNRECORDED.has(name) && value !== undefined,
  );
  const folder = runFolder(options.out);
  const record = {
    format: `reatt-${kind.name}`,
    version: 1,
    options: withFiles(Object.fromEntries(values), (file) => relative(folder, file)),
    result,
  };
  await replaceFile(fileOf(folder, kind), (handle) =>
    handle.writeFile(`${JSON.stringify(record, undefined, 2)}\n`),
  );
}

/** Paths are recorded as seen from the folder of the run. */
const withFiles = (
  options: Readonly<Record<string, unknown>>,
  change: (file: string) => string,
): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(options).map(([name, value]) => [
      name,
      FILE_OPTIONS.has(name) ? withChanged(value, change) : value,
    ]),
  );

/** A path, a file with its weight, or a list of these. */
const withChanged = (value: unknown, change: (file: string) => string): unknown => {
  if (Array.isArray(value)) return value.map((one) => withChanged(one, change));
  if (typeof value === "string") return change(value);
  const { file, ...rest } = value as { readonly file: string };
  return { file: change(file), ...rest };
};

/** A path of a record, from anywhere. */
export const locatedIn =
  (folder: string) =>
  (path: string): string =>
    isAbsolute(path) ? path : join(folder, path);

/**
 * @param out folder of the trained model
 * @throws {InputError} if the record is damaged
 */
export async function readRunRecord(kind: RunKind, out: string): Promise<RunRecord | undefined> {
  const folder = runFolder(out);
  const file = fileOf(folder, kind);
  const text = await readFile(file, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    const { options, result } = description(kind).parse(JSON.parse(text));
    return { options: withFiles(options, locatedIn(folder)), result };
  } catch (cause) {
    const expected = `the record of a run (${kind.name})`;
    const remedy = "begin in another folder";
    throw new InputError({ where: file, expected, got: "another text", remedy }, { cause });
  }
}

/** The options that are given, and for the others those of the record. */
export function withRecord<Options extends object>(
  given: Options,
  { options }: RunRecord,
): Options {
  const named = Object.entries(given).filter(([, value]) => value !== undefined);
  return { ...options, ...Object.fromEntries(named) } as Options;
}
