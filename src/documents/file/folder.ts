/**
 * The files of a folder, in the order of their names. Left out are hidden files, and those that a
 * `.gitignore` or `.reattignore` of the folder names. Symbolic links are not followed: one inside
 * the folder would read a file twice, one out of it a file that does not belong to it.
 */

import type { Dirent } from "node:fs";
import { readdir, realpath } from "node:fs/promises";
import { join } from "node:path";
import { InputError, inputErrorFrom } from "../../io/errors.ts";
import { kindOfFolder } from "../../io/index-folder.ts";
import { PathPatterns } from "./path-patterns.ts";
import { openRegularFile } from "./source-file.ts";

const IGNORE_FILES = [".gitignore", ".reattignore"];
const MAX_RULES_BYTES = 2 ** 20;

export interface FolderEntry {
  readonly path: string;
  /** The path relative to the folder, with `/`. */
  readonly name: string;
  /** Why the entry cannot be read, if so. */
  readonly problem?: InputError | undefined;
}

/** The rules of a folder; they count for everything below it. */
interface Rules {
  readonly folder: string;
  readonly rules: PathPatterns;
}

/** Which files of a folder are read, by patterns as in a `.gitignore`. */
export interface FilePatterns {
  /** Only files that match one. Default: all. */
  readonly include?: readonly string[] | undefined;
  /** No file that matches one. */
  readonly ignore?: readonly string[] | undefined;
}

/**
 * @param index the folder of the index, which may be in the folder of documents and is left out
 * @throws {InputError} if the folder cannot be read
 */
export async function* filesOf(
  root: string,
  index?: string,
  patterns: FilePatterns = {},
): AsyncGenerator<FolderEntry, void> {
  const top = await realpath(root).catch((error: unknown) => {
    throw unreadable(root, error);
  });
  // while the first index is built, its files do not tell what it is
  const leftOut = index === undefined ? undefined : await realpath(index).catch(() => undefined);
  const included = patterns.include && new PathPatterns(patterns.include);
  const ignored = new PathPatterns(patterns.ignore ?? []);
  yield* below({ root: top, leftOut, included, ignored }, "", []);
}

interface Tree {
  readonly root: string;
  /** The path of a folder that is not read. */
  readonly leftOut: string | undefined;
  /** Matches the files that are read. Undefined: all. */
  readonly included: PathPatterns | undefined;
  /** Counts more than the rules of any folder. */
  readonly ignored: PathPatterns;
}

async function* below(
  tree: Tree,
  folder: string,
  outer: readonly Rules[],
): AsyncGenerator<FolderEntry, void> {
  const { root, leftOut, included, ignored } = tree;
  const entries = await readdir(join(root, folder), { withFileTypes: true }).catch(
    (error: unknown) => {
      throw unreadable(join(root, folder), error);
    },
  );
  if (await isIndex(join(root, folder), entries)) return;
  const rules = [...outer, ...(await rulesOf(root, folder))];
  const all = [...rules, { folder: "", rules: ignored }];
  // not in the order of a language: it must be the same on every machine
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const name = folder + entry.name;
    const isIgnored = isIgnoredBy(all, entry.isDirectory() ? `${name}/` : name);
    if (entry.name.startsWith(".") || isIgnored) continue;
    const path = join(root, name);
    if (path === leftOut || (included && !entry.isDirectory() && !included.match(name))) continue;
    if (isBeirQuestions(entries, entry)) {
      yield { path, name, problem: noDocuments(path) };
      continue;
    }
    if (!entry.isDirectory()) yield { path, name, problem: problemOf(entry, path) };
    else
      try {
        yield* below(tree, `${name}/`, rules);
      } catch (error) {
        yield { path, name, problem: asInputError(unreadable(path, error)) };
      }
  }
}

/** An index of reatt holds the passages of documents, and is none itself. */
async function isIndex(path: string, entries: readonly Dirent[]): Promise<boolean> {
  if (!entries.some(({ name }) => name === "segments")) return false;
  const kind = await kindOfFolder(path).catch(() => "foreign"); // its files say what is wrong
  return kind === "index" || kind === "newer" || kind === "stopped";
}

async function rulesOf(root: string, folder: string): Promise<Rules[]> {
  const texts = await Promise.all(
    IGNORE_FILES.map((name) => readRules(join(root, folder, name)).catch(() => "")),
  );
  const text = texts.join("\n");
  return text.trim() === "" ? [] : [{ folder, rules: new PathPatterns(text) }];
}

/** A pipe or a device has no rules, and waiting for it would never end. */
async function readRules(path: string): Promise<string> {
  await using file = await openRegularFile(await realpath(path));
  const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_RULES_BYTES));
  return buffer.subarray(0, bytesRead).toString("utf8");
}

/** The questions and judgements of a data set of BEIR beside its corpus. */
function isBeirQuestions(entries: readonly Dirent[], { name }: Dirent): boolean {
  const has = (pattern: RegExp): boolean => entries.some((entry) => pattern.test(entry.name));
  const isPart = /^queries\.jsonl(\.gz)?$/.test(name) || name === "qrels";
  return isPart && has(/^corpus\.jsonl(\.gz)?$/) && has(/^queries\.jsonl(\.gz)?$/);
}

/** The rules of the innermost folder that decide count, as in git. */
function isIgnoredBy(rules: readonly Rules[], name: string): boolean {
  let isIgnored = false;
  for (const { folder, rules: own } of rules)
    isIgnored = own.decide(name.slice(folder.length)) ?? isIgnored;
  return isIgnored;
}

function problemOf(entry: Dirent, where: string): InputError | undefined {
  if (entry.isFile()) return undefined;
  return new InputError({
    where,
    expected: "a file",
    got: entry.isSymbolicLink() ? "a symbolic link" : "a device, a pipe or a socket",
    remedy: "copy the file into the folder",
  });
}

const noDocuments = (where: string): InputError =>
  new InputError({
    where,
    expected: "documents",
    got: "questions or judgements of a data set of BEIR",
    remedy: "index the corpus, which is beside it",
  });

const unreadable = (where: string, error: unknown): unknown =>
  inputErrorFrom(error, {
    where,
    expected: "a folder of documents",
    remedy: "check the path and its permissions",
  });

function asInputError(error: unknown): InputError {
  if (error instanceof InputError) return error;
  throw error;
}
