/**
 * Files of a run that hold what was found once, so that a resumed run continues with the same.
 *
 * Format: JSON Lines. The first line is a header that identifies the content; then one item a line.
 */

import { existsSync } from "node:fs";
import type { z } from "zod";
import { InputError } from "../../io/errors.ts";
import { readJsonLines } from "../../io/json/json-lines.ts";
import { replaceFile } from "../../io/replace-file.ts";

export interface KeptFile<Item> {
  readonly file: string;
  /** Whether the run continues: then the file is read, if it exists. */
  readonly resume: boolean;
  /** What the items are, in the plural: "candidates". */
  readonly noun: string;
  /** What determines the items, by its name in messages. */
  readonly identity: Readonly<Record<string, string | number>>;
  readonly item: z.ZodType<Item>;
}

const LINES_PER_WRITE = 1_000;

/**
 * The items of the file, which `find` finds for a new run.
 *
 * @throws {InputError} if the file is damaged, or another run wrote it
 */
export async function* kept<Event, Item>(
  given: KeptFile<Item>,
  find: () => AsyncGenerator<Event, readonly Item[]>,
): AsyncGenerator<Event, readonly Item[]> {
  if (given.resume && existsSync(given.file)) return readKept(given);
  const items = yield* find();
  await writeKept(given, items);
  return items;
}

/** Replaces the file in one step. */
async function writeKept<Item>(given: KeptFile<Item>, items: readonly Item[]): Promise<void> {
  await replaceFile(given.file, async (handle) => {
    await handle.appendFile(`${JSON.stringify({ ...headerOf(given), items: items.length })}\n`);
    for (let first = 0; first < items.length; first += LINES_PER_WRITE) {
      const lines = items.slice(first, first + LINES_PER_WRITE).map((item) => JSON.stringify(item));
      await handle.appendFile(`${lines.join("\n")}\n`);
    }
  });
}

async function readKept<Item>(given: KeptFile<Item>): Promise<Item[]> {
  const items: Item[] = [];
  let count: unknown;
  for await (const { line, value } of readJsonLines(given.file)) {
    if (line === 1) {
      count = checkedHeader(given, value).items;
      continue;
    }
    const { data, success } = given.item.safeParse(value);
    if (!success) throw damaged(`${given.file}:${line}`, given.noun);
    items.push(data);
  }
  if (items.length !== count) throw damaged(given.file, given.noun);
  return items;
}

const headerOf = <Item>({ noun, identity }: KeptFile<Item>): Record<string, string | number> => ({
  format: `reatt-${noun}`,
  version: 2,
  ...identity,
});

function checkedHeader<Item>(given: KeptFile<Item>, value: unknown): Record<string, unknown> {
  const found = (value ?? {}) as Record<string, unknown>;
  const other = Object.entries(headerOf(given)).find(([name, content]) => found[name] !== content);
  if (!other) return found;
  if (!(other[0] in given.identity)) throw damaged(given.file, given.noun);
  throw new InputError({
    where: given.file,
    expected: `the ${other[0]} that the run began with`,
    got: "another",
    remedy: "resume with what it began with, or begin a new run in another directory",
  });
}

const damaged = (where: string, noun: string): InputError =>
  new InputError({
    where,
    expected: `${noun}, one a line`,
    got: "something else",
    remedy: "remove the file: they are then found again",
  });
