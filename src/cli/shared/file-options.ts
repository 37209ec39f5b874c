/** Options that many commands have, and files that they name. */

import { EMBEDDED_MODEL } from "../../hub/model-name.ts";
import { InputError, systemProblem } from "../../io/errors.ts";
import { readOpened } from "../../io/open-file.ts";
import { flag, option, optionally, path, text } from "../../options/option.ts";

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
