/**
 * Fingerprints of models that were loaded before. To compute one takes a third of the time in which
 * a command answers, so it is kept for as long as the files of the weights keep path, inode, size
 * and times: what build tools and git compare. The configuration and the tokenizer are compared by
 * their contents.
 *
 * They are in `reatt/fingerprints.json` in the user's cache, `XDG_CACHE_HOME` or `~/.cache`, which
 * can be removed at any time. A file beside the weights would be foreign to the lists and checksums
 * of a package or of the hub's cache, and a copy of the folder would take it along.
 */

import { createHash } from "node:crypto";
import { mkdir, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { openFile } from "../io/open-file.ts";
import { readSmallFile } from "../io/small-file.ts";
import { version } from "../io/version.ts";
import type { ModelConfig } from "./config.ts";
import { fingerprint, fingerprintRules } from "./fingerprint.ts";
import type { StoredWeights } from "./load-weights.ts";

const MAX_BYTES = 100_000;
/** The last ones that were computed. */
const KEPT = 100;
const FINGERPRINT = /^[0-9a-f]{64}$/;

/**
 * The {@link fingerprint} of weights in files. It is computed if the files changed since it was
 * computed the last time, or moments before that: then one more change could leave the same times.
 */
export async function fingerprintOf(
  config: ModelConfig,
  stored: Pick<StoredWeights, "parts" | "state">,
  tokenizerBytes: Uint8Array,
  options: { readonly integers: boolean },
): Promise<string> {
  const compute = () => fingerprint(config, stored.parts, tokenizerBytes, options);
  const state = await stored.state();
  if (state === undefined) return compute();
  const key = createHash("sha256")
    .update(JSON.stringify([version(), fingerprintRules(config, options), state]))
    .update(tokenizerBytes)
    .digest("hex");
  const known = (await readKept()).get(key);
  if (known !== undefined) return known;
  const computed = await compute();
  if ((await stored.state()) === state) await keep(key, computed);
  return computed;
}

/** Forgets all, so that the weights of each model are read as a whole when it is loaded next. */
export async function forgetFingerprints(): Promise<void> {
  try {
    await rm(listFile(), { force: true });
  } catch {
    // Nothing was kept where nobody may write
  }
}

const listFile = (): string =>
  join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "reatt", "fingerprints.json");

/** What cannot be read is not kept. */
async function readKept(): Promise<Map<string, string>> {
  try {
    const list: unknown = JSON.parse((await readSmallFile(listFile(), MAX_BYTES)).toString());
    return new Map(Object.entries(list as object).filter(([, kept]) => FINGERPRINT.test(kept)));
  } catch {
    return new Map();
  }
}

/** Readers see the old list or the new one. Of two writers at once, one is computed again. */
async function keep(key: string, computed: string): Promise<void> {
  const kept = [...(await readKept()), [key, computed]].slice(-KEPT);
  try {
    const path = listFile();
    const temporary = `${path}.${process.pid}`;
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await using file = await openFile(temporary, "w", 0o600);
    await file.writeFile(JSON.stringify(Object.fromEntries(kept)));
    await rename(temporary, path).catch(() => rm(temporary, { force: true }));
  } catch {
    // A cache that nobody may write keeps nothing
  }
}
