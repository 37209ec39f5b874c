/**
 * Which files of collections this user has accepted. A file that came with a clone could name
 * folders whose documents its author wants to see in answers, so it is asked about first, and again
 * after each change.
 */

import { mkdir } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline/promises";
import { z } from "zod";
import { InputError, isMissing, writeErrorFrom } from "../../io/errors.ts";
import { replaceFile } from "../../io/replace-file.ts";
import { readSmallFile } from "../../io/small-file.ts";
import { type Config, describeConfig } from "./collections.ts";

const MAX_BYTES = 2 ** 24;
/** The digest of each accepted file, by its path. */
const accepted = z.record(z.string(), z.string());

const listFile = (): string =>
  join(process.env.XDG_CONFIG_HOME || join(homedir(), ".config"), "reatt", "accepted.json");

/** An unreadable list has accepted nothing. */
async function readAccepted(): Promise<z.infer<typeof accepted>> {
  try {
    const text = (await readSmallFile(listFile(), MAX_BYTES)).toString("utf8");
    return accepted.safeParse(JSON.parse(text)).data ?? {};
  } catch (error) {
    if (isMissing(error) || error instanceof SyntaxError) return {};
    throw error;
  }
}

/** Accepts a file as it is now. */
export async function accept({ file, digest }: Pick<Config, "file" | "digest">): Promise<void> {
  const list = { ...(await readAccepted()), [file]: digest };
  const path = listFile();
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  } catch (error) {
    throw writeErrorFrom(error, dirname(path));
  }
  await replaceFile(path, (handle) => handle.writeFile(JSON.stringify(list)));
}

/** @throws {InputError} if the user does not accept the file, or cannot be asked */
export async function checkAccepted(config: Config, signal: AbortSignal): Promise<void> {
  if ((await readAccepted())[config.file] === config.digest) return;
  if (!(await askToAccept(config, signal))) throw notAccepted(config.file);
  await accept(config);
}

/** Asks at the terminal. False if there is none. */
export async function askToAccept(config: Config, signal: AbortSignal): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return false;
  process.stderr.write(`${describeConfig(config)}\n`);
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await lines.question("Use this file, which is new here or changed? [y/N] ", {
      signal,
    });
    return /^y(?:es)?$/i.test(answer.trim());
  } finally {
    lines.close();
  }
}

const notAccepted = (where: string): InputError =>
  new InputError({
    where,
    expected: "collections that you have accepted",
    got: "a file that is new here or changed",
    remedy: "look at it, then accept it with reatt init --yes in its folder",
  });
