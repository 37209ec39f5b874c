/** Tells a text from other files whose names say nothing. */

import { isUtf8 } from "node:buffer";
import { stat } from "node:fs/promises";
import { InputError } from "../../io/errors.ts";
import { sourceFile } from "./source-file.ts";

/** A larger file without an ending is a dump or a program. */
const MAX_BYTES = 2 ** 20;
/** Controls that texts have: tab, line feed, form feed, carriage return. */
const CONTROL = /(?![\t\n\f\r])\p{Cc}/u;

/** Whether a file is UTF-8 with letters and without control characters, of at most 1 MiB. */
export async function isPlainText(path: string): Promise<boolean> {
  try {
    if ((await stat(path)).size > MAX_BYTES) return false;
    const bytes = await sourceFile(path, path).bytes();
    if (bytes.length > MAX_BYTES || !isUtf8(bytes)) return false;
    const text = bytes.toString("utf8");
    return /\p{L}/u.test(text) && !CONTROL.test(text);
  } catch (error) {
    if (error instanceof InputError || (error as NodeJS.ErrnoException).code) return false;
    throw error;
  }
}
