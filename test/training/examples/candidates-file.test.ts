import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import {
  type CandidatesSource,
  readCandidates,
  writeCandidates,
} from "../../../src/training/examples/candidates-file.ts";
import { acceptedOrRefused, refused, temporaryFolder } from "../../checkpoints/support.ts";

const file = join(temporaryFolder(), "close-passages.jsonl");
const questions = Array.from({ length: 2_500 }, (_, i) => ({
  id: `q"${i}`,
  question: "?",
  answers: ["é"],
}));
const close = questions.map((_, i) => [`p${i}`, `\u2028${i}\n`]);
const source: CandidatesSource = { questions, count: 2, corpus: "abc" };

test("what was written is read", async () => {
  await writeCandidates(file, source, close);
  assert.equal(await readCandidates(file, source), close);
});

test("a file of another run is refused, and what is other is named", async () => {
  await writeCandidates(file, source, close);
  const refuse = (other: Partial<CandidatesSource>, noun: string) =>
    refused(
      readCandidates(file, { ...source, ...other }),
      new RegExp(
        `close-passages.jsonl: expected the ${noun} that the run began with, got another; resume with`,
      ),
    );
  await refuse({ count: 3 }, "number of candidates");
  await refuse({ corpus: "abd" }, "corpus");
  await refuse({ questions: questions.slice(1) }, "training data");
  await refuse(
    { questions: questions.map((question) => ({ ...question, answers: ["e"] })) },
    "training data",
  );
});

test("a damaged file is refused, never read as another", async () => {
  const few: CandidatesSource = { ...source, questions: questions.slice(0, 3) };
  await writeCandidates(file, few, close.slice(0, 3));
  const text = readFileSync(file, "utf8");
  const lines = text.split("\n");
  const refuse = async (content: string, message: RegExp) => {
    writeFileSync(file, content);
    await refused(readCandidates(file, few), message);
  };
  await refuse("", /close-passages.jsonl: expected candidates, one question a line/);
  await refuse("null\n", /expected candidates/);
  await refuse(text.replace("reatt-close-passages", "reatt-index"), /expected candidates/);
  await refuse(lines.slice(0, 3).join("\n"), /close-passages.jsonl: expected candidates/);
  await refuse(`${text}${lines[3]}\n`, /close-passages.jsonl:5: expected candidates/);
  await refuse([lines[0], lines[2], lines[1], lines[3]].join("\n"), /close-passages.jsonl:2/);
  await refuse(text.replace('"p1",', ""), /close-passages.jsonl:3/);
  await fc.assert(
    fc.asyncProperty(fc.nat(text.length - 1), fc.string({ maxLength: 2 }), async (at, put) => {
      writeFileSync(file, text.slice(0, at) + put + text.slice(at + 1));
      const read = await acceptedOrRefused(readCandidates(file, few));
      assert.ok(
        read === undefined || (read.length === 3 && read.every(({ length }) => length === 2)),
      );
    }),
    { numRuns: 300 },
  );
});

test.run();
