/** `--options FILE`: options of a training run as JSON, by their names in the library. */

import { InputError, systemProblem } from "../../io/errors.ts";
import { parseJson } from "../../io/json/parse-json.ts";
import { readSmallFile } from "../../io/small-file.ts";
import { type OptionTable, option, path } from "../../options/option.ts";
import { problemOfGiven } from "../../options/resolve.ts";
import { OptionsFileError } from "./options-file-error.ts";

/** All options of training are a few hundred characters. */
const MAX_BYTES = 1_000_000;

/** The flag of commands that take a file of options. */
export const OPTIONS_FILE = {
  options: option(path().optional(), {
    help: "more options as JSON, by their names in the library; flags come before it",
    placeholder: "FILE.json",
    group: "Training",
  }),
};

/**
 * Reads a file such as `{"seed": 5, "copyAttention": 1}`.
 *
 * @param table the options that it can have; `json` is a flag alone
 * @throws {InputError} if it is too large or no object in JSON, for an unknown name and a value out
 *   of range
 */
export async function readOptions(file: string, table: OptionTable): Promise<object> {
  const { json: _, ...options } = table;
  const given = await readSmallFile(file, MAX_BYTES)
    .then((bytes) => parseJson(bytes.toString(), file))
    .catch((cause: unknown) => {
      if (cause instanceof InputError) throw cause;
      const problem = { where: file, expected: "options as a JSON object" };
      const got = systemProblem(cause);
      throw new OptionsFileError({ ...problem, got, remedy: "correct the file" }, { cause });
    });
  const mistake = problemOfGiven(options, given, file);
  if (mistake) throw new OptionsFileError(mistake);
  return given as object;
}
