/** What the errors of all stores share. */

import { InputError, type Problem } from "../../../io/errors.ts";

/** What an error of a server or of its client means to a user. */
export type Described = Pick<Problem, "expected" | "remedy" | "code">;

/** An error of a server that has no other meaning. */
export const OTHER: Described = {
  code: "ERR_REATT_DAMAGED_INDEX",
  expected: "a server that does this",
  remedy: "look into the log of the server",
};

/** @param version with `@`, if another one than the latest is to be installed */
export const missingPackage = (
  where: string,
  name: string,
  version: string,
  cause: unknown,
): InputError =>
  new InputError(
    {
      code: "ERR_REATT_NO_PACKAGE",
      where,
      expected: `the package ${name}`,
      got: (cause as Error).message.split("\n")[0]!,
      remedy: `npm install ${name}${version}`,
    },
    { cause },
  );
