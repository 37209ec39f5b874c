/** The corpus of a command: JSON Lines as they are, or documents that are split into passages. */

import { endingsText } from "../../documents/formats.ts";
import type { PassageSpool, spoolPassages } from "../../documents/passage-spool.ts";
import type { ReadDocumentsOptions, SkippedFile } from "../../documents/read-documents.ts";
import { flag, option } from "../../options/option.ts";
import { plain } from "../output/plain.ts";
import { type Progress, startProgress } from "../output/progress.ts";
import type { CommandEnd } from "./exit.ts";

/** Files that a message names. */
const NAMED = 20;

/** Opens the corpus of an option `--corpus`. Shows the progress, and the files that are skipped. */
export async function openCorpus(
  open: typeof spoolPassages,
  source: string,
  {
    strict,
    ...options
  }: Omit<ReadDocumentsOptions, "onSkip" | "onProgress"> & {
    readonly strict: boolean;
  },
): Promise<PassageSpool & { readonly skipped: readonly SkippedFile[] }> {
  const skipped: SkippedFile[] = [];
  let progress: Progress | undefined;
  const spool = await open(source, {
    ...options,
    onSkip: (file) => {
      if (strict && file.isDamage) throw file.problem;
      skipped.push(file);
    },
    onProgress: ({ done, total }) => {
      progress ??= startProgress("files", total);
      progress.update(done);
    },
  }).finally(() => {
    progress?.stop();
    process.stderr.write(describeSkipped(skipped)); // also if no document is left
  });
  return { ...spool, skipped };
}

/** What was left out, as commands print it with `--json`. */
export const skippedAsJson = (skipped: readonly SkippedFile[]): readonly object[] =>
  skipped.map(({ file, isPart, isDamage, problem }) => ({
    file,
    where: problem.where,
    problem: problem.message,
    isPart,
    isDamage,
  }));

/** How a command ends that left these out. */
export const endOf = (skipped: readonly SkippedFile[]): CommandEnd =>
  skipped.some(({ isDamage }) => isDamage) ? "in part" : undefined;

export const STRICT = option(flag().default(false), {
  help: "end with the first file or line that cannot be read (otherwise exit code 3 at the end)",
  group: "Documents",
  own: true,
});

/**
 * A line for each file or part of a file with a problem, one for all files that no reader knows,
 * and the number of files that are skipped.
 */
export function describeSkipped(skipped: readonly SkippedFile[]): string {
  const unknown = skipped.filter(({ isUnknownFormat }) => isUnknownFormat).map(({ file }) => file);
  const known = skipped.filter(({ isUnknownFormat }) => !isUnknownFormat);
  const lines = known.map(
    ({ problem, isPart }) => `${isPart ? "note:" : "skipped"} ${problem.message}`,
  );
  if (unknown.length > 0) {
    const more = unknown.length > NAMED ? ` and ${unknown.length - NAMED} more` : "";
    const names = unknown.slice(0, NAMED).join(", ");
    lines.push(
      `skipped ${unknown.length} of unknown format: ${names}${more}`,
      `formats that are read: ${endingsText()}`,
    );
  }
  const files = skipped.filter(({ isPart }) => !isPart).length;
  if (files > 1) lines.push(`skipped ${files} files`);
  if (endOf(skipped)) {
    const [parts, whole] = [true, false].map(
      (wanted) => skipped.filter(({ isDamage, isPart }) => isDamage && isPart === wanted).length,
    );
    lines.push(`read in part: ${whole} files and ${parts} parts of files could not be read`);
  }
  return lines.map((line) => `${plain(line)}\n`).join("");
}
