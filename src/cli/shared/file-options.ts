/** Options that many commands have, and files that they name. */

import { existsSync } from "node:fs";
import { z } from "zod";
import { EMBEDDED_MODEL } from "../../hub/model-name.ts";
import { InputError, systemProblem } from "../../io/errors.ts";
import { readOpened } from "../../io/open-file.ts";
import { flag, option, optionally, path, text } from "../../options/option.ts";
import { manifestPath } from "../../retrieval/index/format/manifest.ts";

export const MODEL = option(path().default(EMBEDDED_MODEL), {
  help: "folder of the model, or its name on the Hugging Face hub",
  placeholder: "DIR|ORG/NAME[@REVISION]",
  defaultText: "the model of this package",
});

/** For a command that searches or extends an index. */
export const MODEL_OF_INDEX = optionally(MODEL, "the model that made the index");

export const INDEX = option(path(), {
  help: "folder of the index, or a collection of reatt.config.json",
  placeholder: "DIR|NAME",
  defaultText: "the only collection",
});

/** Where an index is that is searched, and what hits say of it. */
export interface IndexPlace {
  readonly directory: string;
  /** The collection that it belongs to. */
  readonly collection?: string | undefined;
  readonly linkBase?: string | undefined;
}

/** A folder or an address can have commas. */
const placesOf = (given: string): IndexPlace[] =>
  (given.includes("://") || existsSync(manifestPath(given)) ? [given] : given.split(",")).map(
    (directory) => ({ directory }),
  );

/** For commands that search. */
export const INDEXES = option(
  z.array(z.object({ directory: path() })).transform((places): readonly IndexPlace[] => places),
  {
    help: "folders of indexes, or collections of reatt.config.json, that are searched as one",
    placeholder: "DIR|NAME,...",
    defaultText: "all collections",
    parse: placesOf,
    own: true,
  },
);

export const STORE = option(text().optional(), {
  help:
    "the index as a collection of a store: postgres://USER@HOST/DATABASE/COLLECTION or " +
    "weaviate://HOST/COLLECTION",
  placeholder: "ADDRESS",
  defaultText: "a folder",
  own: true, // it stands for --index or --out
});

export const CORPUS = option(path(), {
  help:
    'folder or file of documents, - for standard input, or passages, one a line: {"id","title",' +
    '"text"}',
  placeholder: "FOLDER|FILE|-",
});

/** For a command that prints one result. */
export const JSON_OBJECT = option(flag().default(false), {
  help: "print one JSON object",
  own: true,
});

/** For a command that prints one result for each question or event. */
export const JSON_LINES = option(flag().default(false), {
  help: "print JSON objects, one a line",
  own: true,
});

/**
 * Ids of passages, one a line.
 *
 * @throws {InputError} if the file cannot be read
 */
export async function readIds(file: string): Promise<string[]> {
  const bytes = await readOpened(file).catch((cause: unknown) => {
    throw new InputError(
      {
        where: file,
        expected: "a file of ids",
        got: systemProblem(cause),
        remedy: "name a file with one id a line",
      },
      { cause },
    );
  });
  return bytes
    .toString("utf8")
    .split(/\r?\n/)
    .filter((line) => line !== "");
}
