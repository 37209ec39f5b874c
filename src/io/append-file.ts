/** A file to which a long run appends. */

import { writeErrorFrom } from "./errors.ts";
import { openFile } from "./open-file.ts";

export interface AppendFile extends AsyncDisposable {
  append(data: string | Uint8Array): Promise<void>;
  /** Makes the appended data durable (fsync). */
  sync(): Promise<void>;
}

/**
 * Opens a file for appending, and creates it if it does not exist. All methods throw `InputError`
 * if the system cannot write.
 */
export async function openAppendFile(path: string): Promise<AppendFile> {
  const handle = await writing(path, openFile(path, "a"));
  return {
    append: (data) => writing(path, handle.appendFile(data)),
    sync: () => writing(path, handle.sync()),
    [Symbol.asyncDispose]: () => writing(path, handle.close()),
  };
}

async function writing<Result>(path: string, work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    throw writeErrorFrom(error, path);
  }
}
