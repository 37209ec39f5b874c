/** `reatt init`: writes the file of collections after a look at the folder, or accepts one. */

import { stat } from "node:fs/promises";
import { basename, extname, join, resolve } from "node:path";
import { filesOf } from "../../documents/file/folder.ts";
import { endingsText, isReadable } from "../../documents/formats.ts";
import { InputError, inputErrorFrom } from "../../io/errors.ts";
import { replaceFile } from "../../io/replace-file.ts";
import { flag, option, text } from "../../options/option.ts";
import {
  CONFIG_NAME,
  type Config,
  type ConfigFile,
  describeConfig,
  INDEX_FOLDER,
  readConfig,
} from "../collections/collections.ts";
import { accept, askToAccept } from "../collections/trust.ts";
import { defineCommand } from "../line/command.ts";
import { UsageError } from "../shared/usage-error.ts";

/** Endings that the summary names. */
const NAMED = 6;

export const initCommand = defineCommand({
  options: {
    name: option(text().optional(), {
      help: "name of the collection",
      placeholder: "NAME",
      defaultText: "that of the folder",
      own: true,
    }),
    description: option(text().optional(), {
      help: "what the documents are about",
      placeholder: "TEXT",
      own: true,
    }),
    yes: option(flag().default(false), {
      help: "accept a file that exists, without a question",
      own: true,
    }),
  },
  operands: { placeholder: "FOLDER", help: "folder of documents; without it, this folder" },
  example: "reatt init docs",
  async run({ name, description, yes }, signal, operands) {
    if (operands.length > 1) throw new UsageError("one folder is needed");
    const found = await readConfig(process.cwd());
    if (found) return acceptFound(found, yes, signal);
    const folder = operands[0] ?? ".";
    const documents = await lookAt(folder);
    const collection = { path: folder, ...(description !== undefined && { description }) };
    const file: ConfigFile = { collections: { [name ?? nameOf(folder)]: collection } };
    const path = join(process.cwd(), CONFIG_NAME);
    await replaceFile(path, (handle) => handle.writeFile(`${JSON.stringify(file, null, 2)}\n`));
    const written = (await readConfig(process.cwd()))!; // checks the name as well
    await accept(written);
    process.stdout.write(
      `${describeConfig(written)}\n${documents}\n` +
        `The index will be in ${INDEX_FOLDER}; leave it out of version control. Next:\n` +
        '  reatt sync\n  reatt answer "QUESTION"\n',
    );
  },
});

async function acceptFound(found: Config, yes: boolean, signal: AbortSignal): Promise<void> {
  if (yes) process.stdout.write(`${describeConfig(found)}\n`);
  if (!yes && !(await askToAccept(found, signal)))
    throw new InputError({
      where: found.file,
      expected: "no file yet, or one that you accept",
      got: "one that exists",
      remedy: "look at it and give --yes to accept it, or remove it",
    });
  await accept(found);
  process.stdout.write("accepted\n");
}

/** How many documents a folder has, by their endings. @throws {InputError} if it has none */
async function lookAt(folder: string): Promise<string> {
  const stats = await stat(folder).catch((error: unknown) => {
    const expected = "a folder of documents";
    throw inputErrorFrom(error, { where: folder, expected, remedy: "check the path" });
  });
  const counts = new Map<string, number>();
  let unknown = 0;
  if (stats.isDirectory())
    for await (const { path, name, problem } of filesOf(folder)) {
      const isRead = !problem && (await isReadable({ path, name }));
      const ending = extname(name).toLowerCase() || "without an ending";
      if (isRead) counts.set(ending, (counts.get(ending) ?? 0) + 1);
      else unknown++;
    }
  if (counts.size === 0)
    throw new InputError({
      where: folder,
      expected: `a folder of documents (${endingsText()})`,
      got: stats.isDirectory() ? "no document" : "no folder",
      remedy: "name the folder of your documents",
    });
  const sorted = [...counts].sort((a, b) => b[1] - a[1]);
  const total = sorted.reduce((sum, [, count]) => sum + count, 0);
  const endings = sorted.slice(0, NAMED).map(([ending, count]) => `${count} ${ending}`);
  const more = sorted.length > NAMED ? ", …" : "";
  const rest = unknown > 0 ? `; ${unknown} other files are not read` : "";
  return `${total} documents (${endings.join(", ")}${more})${rest}`;
}

/** `My docs/` -> `my-docs`. */
const nameOf = (folder: string): string =>
  basename(resolve(folder))
    .toLowerCase()
    .replace(/[^\p{L}\p{N}._-]+/gu, "-")
    .replace(/^[._-]+/, "")
    .slice(0, 64) || "documents";
