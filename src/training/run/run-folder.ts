/**
 * The two folders of a run. `OUT` is the model: what one publishes. `OUT.run`, beside it, has
 * what belongs to the run and can hold text of the user: checkpoint, log, report, examples,
 * candidates, and the index of an adapted model.
 */

import { existsSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { checkNoModel } from "../../model/config-file.ts";

/** The folder of the run whose model is in `out`: `models/mine` -> `models/mine.run`. */
export function runFolder(out: string): string {
  const named = /^\.{0,2}$/.test(basename(out)) ? resolve(out) : out;
  return join(dirname(named), `${basename(named)}.run`);
}

/** @throws {InputError} if `out` has files and no run, which a new run could replace */
export async function checkFree(out: string): Promise<void> {
  if (!existsSync(runFolder(out))) await checkNoModel(out);
}
