/**
 * What every format promises, over the list of src/documents/formats.ts and the cases of cases.ts:
 * its sample is read whole, damaged files end in one line, limits and signals stop reading, and the
 * time grows with the size.
 */

import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { checkReader } from "../../src/documents/check-reader.ts";
import { type Cost, MAX_BYTES } from "../../src/documents/file/budget.ts";
import { type SourceFile, sourceFile } from "../../src/documents/file/source-file.ts";
import { endingOf, FORMATS, formatOf } from "../../src/documents/formats.ts";
import { readFile, resolveReadOptions } from "../../src/documents/read-documents.ts";
import { InputError } from "../../src/io/errors.ts";
import { assertLinear } from "../support/linear-time.ts";
import { bytesOf, CASES } from "./cases.ts";
import { readOne, tokenizer } from "./support.ts";

const SIZE = 6_000; // characters
/** Opening a file takes most of a shorter time. */
const OPENING = 30_000; // microseconds

const folder = mkdtempSync(join(tmpdir(), "reatt-conformance-"));
test.after(() => rmSync(folder, { recursive: true }));

function fileOf(name: string, contents: string | Buffer, signal?: AbortSignal): SourceFile {
  const path = join(folder, name);
  writeFileSync(path, contents);
  return sourceFile(path, name, { signal });
}

/** How reading ends: undefined at the end of the file. */
async function endOf(
  file: SourceFile,
  signal?: AbortSignal,
  onPassage = () => {},
): Promise<unknown> {
  try {
    const { onProgress: _, ...options } = resolveReadOptions({ tokenizer, signal });
    for await (const _ of readFile(file, options)) onPassage();
    return undefined;
  } catch (error) {
    return error;
  }
}

function assertTooLarge(error: unknown, what: string): void {
  assert.instance(error, InputError, `${what}: ${error}`);
  const { code, message } = error as InputError;
  assert.is(code, "ERR_REATT_TOO_LARGE", `${what}: ${message}`);
  assert.not.match(message, /[\n\r\u2028\u2029]/);
}

test("every format has a case", () => {
  const covered = new Set(Object.keys(CASES).map((name) => formatOf(name)));
  for (const format of FORMATS)
    assert.ok(
      covered.has(format),
      `.${format.endings[0]} has no case: add one to CASES of test/documents/cases.ts, ` +
        "with a sample, the texts of its passages, and files that take parsers long",
    );
  for (const [name, { texts, hostile }] of Object.entries(CASES))
    assert.ok(texts.length > 0 && hostile.length > 0, `${name} needs texts and hostile files`);
});

test("docs/DOCUMENTS.md has a row for every ending", () => {
  const [, table = ""] = /^## Formats$([\s\S]*?)^- /m.exec(
    readFileSync("docs/DOCUMENTS.md", "utf8"),
  )!;
  const rows = [...table.matchAll(/^\|([^|]*)\|/gm)].map(([, first]) => first!);
  assert.ok(rows.some((row) => row.trim() === "source code"));
  const documented = rows.flatMap((row) =>
    [...row.matchAll(/`\.(\w+)`/g)].map(([, name]) => name!),
  );
  const code = formatOf("a.py");
  const endings = FORMATS.filter((one) => one !== code).flatMap((one) => one.endings);
  for (const ending of endings)
    assert.ok(
      documented.includes(ending),
      `.${ending} has no row: add one to the table of formats`,
    );
  assert.equal(documented.sort(), endings.sort());
});

for (const [name, { sample, texts, hostile }] of Object.entries(CASES)) {
  const contents = bytesOf(sample);
  const { read } = formatOf(name)!;

  test(`${name}: all of its text, and nothing twice`, async () => {
    const { passages } = await readOne(name, contents);
    assert.equal(
      passages.map(({ text }) => text),
      texts,
    );
  });

  test(`${name}: the same when read again; damaged files are read or end in one line`, () =>
    checkReader({ endings: [endingOf(name)], read, sample: contents }));

  test(`${name}: everything that it spends is limited`, async () => {
    const spent = new Set<Cost>();
    const file = fileOf(name, contents);
    const spend = file.budget.spend.bind(file.budget);
    file.budget.spend = (cost, count) => {
      spent.add(cost);
      spend(cost, count);
    };
    assert.is(await endOf(file), undefined);
    assert.ok(spent.has("written"));
    for (const cost of spent) {
      const poor = fileOf(name, contents);
      poor.budget.spend(cost, poor.budget.left(cost));
      poor.budget.renew = () => {}; // JSON Lines have a new budget for each line
      assertTooLarge(await endOf(poor), cost);
    }
  });

  test(`${name}: a file of more than 64 MiB ends in one line`, async () => {
    const file = fileOf(name, "");
    truncateSync(file.path, MAX_BYTES + 1);
    const error = await endOf(file);
    assert.instance(error, InputError);
    assert.match((error as Error).message, /of at most (?:64 MiB|67\.1 MB), got [^\n]*$/);
  });

  test(`${name}: a signal stops it in the middle`, async () => {
    const ends: string[] = [];
    for (const { repeats, make } of hostile) {
      const stop = new AbortController();
      const reason = new Error("stopped");
      const stopSoon = () => void setImmediate(() => stop.abort(reason));
      const { bytes, ...rest } = fileOf(name, make(40 * SIZE), stop.signal);
      const opened = async () => bytes().finally(stopSoon);
      const file = { ...rest, bytes: opened, text: async () => rest.decode(await opened()) };
      const end = await endOf(file, stop.signal, stopSoon);
      if (end === reason) return;
      ends.push(`${JSON.stringify(repeats)}: ${end}`);
    }
    assert.unreachable(`was read to the end: ${ends.join("; ")}`);
  });

  test(`${name}: time grows with its size`, async () => {
    for (const { repeats, make } of hostile) {
      const work = (size: number) =>
        readOne(name, make(size), { onSkip: () => {} }).catch(() => {});
      await assertLinear(work, SIZE, repeats, OPENING);
    }
  });
}

test.run();
