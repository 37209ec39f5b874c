/** A file that only grows, while a run goes on. */

import { open } from "node:fs/promises";
import { InputError, systemProblem } from "../../io/errors.ts";

export interface AppendFile extends AsyncDisposable {
  append(data: string | Uint8Array): Promise<void>;
  /** Makes what was appended durable. */
  sync(): Promise<void>;
}

/** Opens a file to add to it, and makes it where it is not there. What the system refuses, then or later, is an `InputError`. */
export async function openAppendFile(path: string): Promise<AppendFile> {
  const handle = await writing(path, open(path, "a"));
  return {
    append: (data) => writing(path, handle.appendFile(data)),
    sync: () => writing(path, handle.sync()),
    [Symbol.asyncDispose]: () => writing(path, handle.close()),
  };
}

async function writing<Result>(where: string, work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const remedy =
      code === "ENOSPC" ? "free some space on the disk" : "choose a place where you may write";
    throw new InputError(
      { where, expected: "to be able to write", got: systemProblem(cause), remedy },
      { cause },
    );
  }
}
