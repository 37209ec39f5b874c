/** `reatt.config.json`, or `.yaml`: named collections of documents, each with an index. */

import { createHash } from "node:crypto";
import { dirname, join, resolve } from "node:path";
import { z } from "zod";
import { InputError, inputErrorFrom, isMissing } from "../../io/errors.ts";
import { parseJson } from "../../io/json/parse-json.ts";
import { readSmallFile } from "../../io/small-file.ts";
import { placeOf } from "../../retrieval/places/place-of.ts";
import { assistantSchema } from "../../server/options.ts";
import { isLinkBase } from "../../text/link.ts";

export const CONFIG_NAME = "reatt.config.json";
/** The first of them that a folder has counts. */
const CONFIG_NAMES = [CONFIG_NAME, "reatt.config.yaml"];
/** The folder of the indexes, beside the file. */
export const INDEX_FOLDER = ".reatt";
const MAX_BYTES = 2 ** 20;

const collection = z.strictObject({
  /** The folder of documents, relative to the file. */
  path: z.string().min(1),
  /** Patterns as in a `.gitignore`: only these files, without those. */
  include: z.array(z.string().min(1)).optional(),
  ignore: z.array(z.string().min(1)).optional(),
  /** What people call the documents. Default: the name of the collection. */
  title: z.string().min(1).optional(),
  /** What the documents are about. */
  description: z.string().min(1).optional(),
  /** The beginning of the addresses of documents. */
  linkBase: z.string().refine(isLinkBase, "an address of http, https or file").optional(),
  /** Instructions for assistants, and names and descriptions of tools. */
  assistant: assistantSchema.optional(),
  /** Default: the model of the package. */
  model: z.string().min(1).optional(),
  /** The folder of the index, or its address in a store. Default: `.reatt/NAME`. */
  index: z.string().min(1).optional(),
});

/** Names of collections: an address is none. */
export const NAME = /^[\p{L}\p{N}][\p{L}\p{N}._-]{0,63}$/u;

const configFile = z.strictObject({
  collections: z
    .record(z.string().regex(NAME, "a name of letters, digits, dots and dashes"), collection)
    .refine((all) => Object.keys(all).length > 0, "at least one collection"),
});

export type ConfigFile = z.infer<typeof configFile>;

export interface Collection extends Omit<z.infer<typeof collection>, "index"> {
  readonly name: string;
  /** Absolute. */
  readonly path: string;
  /** An absolute path, or the address of a collection of a store. */
  readonly index: string;
}

export interface Config {
  readonly file: string;
  /** Of its contents. */
  readonly digest: string;
  readonly collections: readonly Collection[];
}

/** The file in a folder. @throws {InputError} if it is no such file; undefined if there is none */
export async function readConfig(folder: string): Promise<Config | undefined> {
  for (const name of CONFIG_NAMES) {
    const file = join(resolve(folder), name);
    const bytes = await readSmallFile(file, MAX_BYTES).catch((error: unknown) => {
      if (isMissing(error)) return undefined;
      throw inputErrorFrom(error, {
        where: file,
        expected: "a file of collections",
        remedy: "check its permissions",
      });
    });
    if (bytes !== undefined) return configOf(file, bytes);
  }
  return undefined;
}

async function configOf(file: string, bytes: Buffer): Promise<Config> {
  const digest = createHash("sha256").update(bytes).digest("hex");
  const { collections } = await parsed(bytes.toString("utf8"), file);
  const from = dirname(file);
  const all = Object.entries(collections).map(([name, one]): Collection => {
    const { index = join(INDEX_FOLDER, name) } = one;
    return { ...one, name, path: resolve(from, one.path), index: placeOf(index, { from }).address };
  });
  return { file, digest, collections: all };
}

/** The file in this folder or the nearest one above it. */
export async function findConfig(from: string = process.cwd()): Promise<Config | undefined> {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    const config = await readConfig(folder);
    if (config || folder === dirname(folder)) return config;
  }
}

async function parsed(text: string, where: string): Promise<ConfigFile> {
  let value: unknown;
  try {
    value = where.endsWith(".yaml") ? await parsedYaml(text) : parseJson(text, where);
  } catch (error) {
    if (error instanceof InputError) throw error;
    throw unusable(where, (error as Error).message.split("\n")[0]!);
  }
  const result = configFile.safeParse(value);
  if (result.success) return result.data;
  const { path, message } = result.error.issues[0]!;
  throw unusable(where, [path.join("."), message].filter((part) => part !== "").join(": "));
}

/** The package has 70 modules, which most commands do not need. */
async function parsedYaml(text: string): Promise<unknown> {
  const { parse } = await import("yaml");
  return parse(text, { maxAliasCount: 0, logLevel: "silent" });
}

const unusable = (where: string, got: string): InputError =>
  new InputError({
    where,
    expected: 'collections: {"collections": {"NAME": {"path": "FOLDER"}}}',
    got,
    remedy: "correct it; docs/DOCUMENTS.md has the fields",
  });

/** A line for each collection, with what it reads and writes. */
export const describeConfig = ({ file, collections }: Config): string =>
  [
    `${file}:`,
    ...collections.map(({ name, path, index, model, assistant }) => {
      const others = model === undefined ? "" : `, model ${model}`;
      const told = assistant === undefined ? "" : `, tells assistants ${JSON.stringify(assistant)}`;
      return `  ${name}: reads ${path}, writes ${placeOf(index).name}${others}${told}`;
    }),
  ]
    .map(printable)
    .join("\n");

/** A line without characters that move the cursor, hide text or change its direction. */
export const printable = (line: string): string =>
  line.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ");
