/** API keys: one a line of a file, compared in constant time. */

import { createHash, timingSafeEqual } from "node:crypto";
import { stat } from "node:fs/promises";
import { InputError, inputErrorFrom } from "../../io/errors.ts";
import { readSmallFile } from "../../io/small-file.ts";

const MAX_FILE_BYTES = 1_000_000;
const MIN_KEY_CHARACTERS = 16;
const EXPECTED = `API keys of at least ${MIN_KEY_CHARACTERS} ASCII characters`;
/** A line that is no key. */
const COMMENT = /^#(\s|$)/;

/** Whether a key is one of the file. */
export type KeyCheck = (key: string) => boolean;

/**
 * @throws {InputError} if the file cannot be read, if others can write it, if it has no key, or if
 * a line cannot be a key
 */
export async function readApiKeys(file: string): Promise<KeyCheck> {
  const remedy = "write one key a line, for example from: openssl rand -hex 32";
  const bytes = await readOwnFile(file).catch((error: unknown) => {
    throw inputErrorFrom(error, { where: file, expected: "a file of API keys", remedy });
  });
  const lines = bytes
    .toString("utf8")
    .replace(/^\ufeff/, "")
    .split(/\r?\n/);
  const keys: string[] = [];
  for (const [i, line] of lines.entries()) {
    const key = line.trim();
    if (key === "" || COMMENT.test(key)) continue;
    const got = problemOf(key);
    if (got === undefined) keys.push(key);
    else throw new InputError({ where: `${file}:${i + 1}`, expected: EXPECTED, got, remedy });
  }
  if (keys.length === 0)
    throw new InputError({ where: file, expected: EXPECTED, got: "none", remedy });
  const digests = keys.map(digest);
  // Digests have one length, and all are compared: the time says nothing about the keys.
  return (key) => {
    const given = digest(key);
    return digests.filter((known) => timingSafeEqual(known, given)).length > 0;
  };
}

/** @throws {InputError} if others can write the file */
async function readOwnFile(file: string): Promise<Buffer> {
  const { mode } = await stat(file);
  if (process.platform === "win32" || (mode & 0o022) === 0)
    return readSmallFile(file, MAX_FILE_BYTES);
  throw new InputError({
    where: file,
    expected: "a file that only its owner can write",
    got: `the permissions ${(mode & 0o777).toString(8)}`,
    remedy: `run: chmod go-w ${file}`,
  });
}

/** Why a line cannot be a key. It does not show the line. */
function problemOf(key: string): string | undefined {
  if (key.startsWith("#")) return "one that begins with #, which is for comments: # and a space";
  if (!/^[!-~]+$/.test(key)) return "one with a space or a character beyond ASCII";
  return key.length < MIN_KEY_CHARACTERS ? `one of ${key.length} characters` : undefined;
}

const digest = (key: string): Buffer => createHash("sha256").update(key).digest();
