/** Training questions in tables. */

import { symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import * as fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { InputError } from "../../../src/io/errors.ts";
import { readTrainingFile } from "../../../src/training/examples/training-questions.ts";
import { rejects, temporary } from "../../retrieval/support.ts";

const folder = await temporary();
test.after(async () => folder[Symbol.asyncDispose]());

async function read(name: string, content: string | Uint8Array) {
  const file = join(folder.path, name);
  await writeFile(file, content);
  return readTrainingFile(file);
}

test("a table has the questions of the same JSON Lines", async () => {
  const expected = [
    { id: "a", question: "Who, exactly?", answers: ["Ada"], passageId: "p1" },
    { id: "2", question: 'A "word"\nin two lines', answers: ["one", "two"] },
    { id: "3", question: "No list", answers: ["[sic] brackets"] },
  ];
  const comma = [
    "ID,Question,Answer,passage_id,notes",
    'a,"Who, exactly?",Ada,p1,from a form',
    ',"A ""word""\nin two lines","[""one"", ""two""]",,',
    ",No list,[sic] brackets",
    "",
  ].join("\r\n");
  const asTabs = 'id\tquestion\tanswers\tpassage_id\na\t"Who, exactly?"\tAda\tp1\n';
  assert.equal(await read("q.csv", comma), expected);
  assert.equal(await read("q.csv", `\ufeff${comma.replaceAll("\r\n", "\n")}`), expected);
  assert.equal(await read("q.csv.gz", gzipSync(comma)), expected);
  assert.equal(await read("q.TSV", asTabs), expected.slice(0, 1));
  const link = join(folder.path, "link.csv");
  await symlink(join(folder.path, "q.csv"), link);
  assert.equal(await readTrainingFile(link), expected);
});

test("mistakes get one line that names the row", async () => {
  for (const [content, message] of [
    ["question,answers\nWho?,\n", /q\.csv:2: expected "answers" or .*, got "question"; rename/],
    [
      "text,answers\nWho?,me\n",
      /q\.csv:2: expected "question" or .*, got "text", "answers"; rename/,
    ],
    ["question,answers\nWho?,[1]\n", /q\.csv:2: expected "answers\.0" to be text, got 1/],
    [
      "id,question,answers\na,b,c\na,b,c\n",
      /q\.csv:3: expected a new id, got 'a', the id of question 1/,
    ],
    ["question,answers\n", /q\.csv: expected at least one question, got none/],
    ["", /q\.csv: expected at least one question, got none/],
  ] as const)
    await rejects(read("q.csv", content), message);
  await rejects(readTrainingFile(join(folder.path, "none.csv")), /none\.csv: expected .*no such/);
});

test("nothing but an InputError comes of any bytes", async () => {
  const head = fc.constantFrom("", "question,answers\n", '"question","answers"\n"');
  await fc.assert(
    fc.asyncProperty(head, fc.uint8Array({ maxLength: 60 }), async (start, rest) => {
      try {
        await read("any.csv", Buffer.concat([Buffer.from(start), rest]));
      } catch (error) {
        if (!(error instanceof InputError)) throw error;
      }
    }),
    { numRuns: 100 },
  );
});

test.run();
