import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { readQrels, readRun } from "../../src/evaluation/trec.ts";
import { InputError } from "../../src/io/errors.ts";

const test = suite<{ folder: string }>("trec");
test.before(async (context) => {
  context.folder = await mkdtemp(join(tmpdir(), "reatt-trec-"));
});
test.after(({ folder }) => rm(folder, { recursive: true }));

const plain = (table: ReadonlyMap<string, ReadonlyMap<string, number>>) =>
  Object.fromEntries([...table].map(([query, labels]) => [query, Object.fromEntries(labels)]));

async function refused(reading: Promise<unknown>, words: RegExp): Promise<void> {
  const error: unknown = await reading.then(
    () => assert.unreachable("should be refused"),
    (reason) => reason,
  );
  assert.instance(error, InputError);
  assert.match((error as Error).message, words);
}

test("reads TREC's qrels", async ({ folder }) => {
  const file = join(folder, "qrels.txt");
  await writeFile(file, "301 0 FR940202-2-00150 1\n301\t0\tFT1  0\r\n\n302 Q0 FT1 -1\n301 0 FT1 0");
  assert.equal(plain(await readQrels(file)), {
    "301": { "FR940202-2-00150": 1, FT1: 0 },
    "302": { FT1: -1 },
  });
});

test("reads labels such as 1.0, quoted columns, and ids with spaces between tabs", async ({
  folder,
}) => {
  const file = join(folder, "quoted.tsv");
  await writeFile(file, '"query-id"\t"corpus-id"\t"score"\n"q 1"\t"a ""b"""\t1.0\nq2\tdoc 7\t0.\n');
  assert.equal(plain(await readQrels(file)), { "q 1": { 'a "b"': 1 }, q2: { "doc 7": 0 } });
  await writeFile(file, "q 1\tQ0\tdoc 7\t1\t0.5\treatt\n");
  assert.equal([...(await readRun(file))], [["q 1", [{ id: "doc 7", score: 0.5 }]]]);
  await writeFile(file, "q1\td1\t1\nq1\td2\t0.5\n");
  assert.equal(plain(await readQrels(file)), { q1: { d1: 1, d2: 0.5 } });
  for (const header of [
    "query-id 0 corpus-id score",
    "qid\titer\tdocno\trel",
    "topic Q0 doc rel",
  ]) {
    await writeFile(file, `${header}\nq1 0 d1 1\n`);
    assert.equal(plain(await readQrels(file)), { q1: { d1: 1 } }, header);
  }
});

test("reads BEIR's qrels, with a header or without, and a byte order mark", async ({ folder }) => {
  const file = join(folder, "test.tsv");
  const expected = { q1: { d1: 2, d2: 1 }, q2: { d1: 0 } };
  for (const header of [
    "query-id\tcorpus-id\tscore\n",
    "\ufeffquery-id\tcorpus-id\tscore\r\n",
    "",
  ]) {
    await writeFile(file, `${header}q1\td1\t2\nq1\td2\t1\nq2\td1\t0\n`);
    assert.equal(plain(await readQrels(file)), expected);
  }
});

test("reads a run by its scores", async ({ folder }) => {
  const file = join(folder, "run.trec");
  await writeFile(
    file,
    "301\tQ0\tFT2\t114\t  1.582296\tSTANDARD\n301 Q0 FT1 1 -2e-3 tag\n\n302 Q0 FT1 1 7 tag\n",
  );
  assert.equal(Object.fromEntries(await readRun(file)), {
    "301": [
      { id: "FT2", score: 1.582296 },
      { id: "FT1", score: -0.002 },
    ],
    "302": [{ id: "FT1", score: 7 }],
  });
});

test("errors name file and line", async ({ folder }) => {
  const file = join(folder, "bad");
  const qrels = async (text: string, words: RegExp) => {
    await writeFile(file, text);
    await refused(readQrels(file), words);
  };
  await qrels("301 0 a 1\n\n301 0 b yes\n", /bad:3: expected a number as label, got "yes"/);
  await qrels("301 0 a no\n", /bad:1: expected a number as label, got "no"/);
  await qrels("301 0 a 1\n301 b 1\n", /bad:2: expected "query 0 passage label", got 3 columns/);
  await qrels("q d 1\nq 0 d 1\n", /bad:2: expected "query passage label", got 4 columns/);
  await qrels("301 0 a 1\n301 0 a 0\n", /bad:2: expected label 1 for 301 and a, as above, got 0/);
  await qrels("query-id\tcorpus-id\tscore\n", /bad: expected relevance qrels, got none/);
  await qrels("word\n", /bad:1: .* got 1 column;/);

  const run = async (text: string, words: RegExp) => {
    await writeFile(file, text);
    await refused(readRun(file), words);
  };
  await run("301 Q0 a 1 0.5\n", /bad:1: expected "query Q0 passage rank score tag", got 5 columns/);
  await run("301 Q0 a 1 nan tag\n", /bad:1: expected a number as score, got "nan"/);
  await run(
    "301 Q0 a 1 2 t\n302 Q0 a 1 2 t\n301 Q0 a 2 1 t\n",
    /bad:3: expected a passage once for 301, got a again/,
  );
  await run("\n", /bad: expected a TREC run, got no line/);
});

test("errors name a missing file", async ({ folder }) => {
  await mkdir(join(folder, "directory"));
  await refused(
    readRun(join(folder, "none")),
    /none: expected a file of a TREC run, got ENOENT \(no such file\)/,
  );
  await refused(readQrels(join(folder, "directory")), /directory: .* got EISDIR \(a directory\)/);
});

test("any file is read or rejected", async ({ folder }) => {
  const file = join(folder, "fuzz");
  const cell = fc.oneof(
    fc.constantFrom("q", "d", "0", "1", "-2", "1e999", "Q0", "\t", "\n"),
    fc.string(),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(cell), async (cells) => {
      await writeFile(file, cells.join(" "));
      for (const read of [readRun, readQrels]) {
        await read(file).catch((error) => assert.instance(error, InputError));
      }
    }),
    { numRuns: 50 },
  );
});

test.run();
