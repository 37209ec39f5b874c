/** API keys: one a line of a file, compared in constant time. */

import { createHash, timingSafeEqual } from "node:crypto";
import { InputError, inputErrorFrom } from "../io/errors.ts";
import { readSmallFile } from "../io/small-file.ts";

const MAX_FILE_BYTES = 1_000_000;
const MIN_KEY_CHARACTERS = 16;

/** Whether a key is one of the file. */
export type KeyCheck = (key: string) => boolean;

/** @throws {InputError} if the file cannot be read, has no key or has a short one */
export async function readApiKeys(file: string): Promise<KeyCheck> {
  const remedy = "write one key a line, for example from: openssl rand -hex 32";
  const bytes = await readSmallFile(file, MAX_FILE_BYTES).catch((error: unknown) => {
    throw inputErrorFrom(error, { where: file, expected: "a file of API keys", remedy });
  });
  const keys = bytes
    .toString("utf8")
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"));
  const short = keys.filter((key) => key.length < MIN_KEY_CHARACTERS).length;
  if (keys.length === 0 || short > 0)
    throw new InputError({
      where: file,
      expected: `API keys of at least ${MIN_KEY_CHARACTERS} characters`,
      got: keys.length === 0 ? "none" : `${short} shorter ones`,
      remedy,
    });
  const digests = keys.map(digest);
  // Digests have one length, and all are compared: the time says nothing about the keys.
  return (key) => {
    const given = digest(key);
    return digests.filter((known) => timingSafeEqual(known, given)).length > 0;
  };
}

const digest = (key: string): Buffer => createHash("sha256").update(key).digest();
