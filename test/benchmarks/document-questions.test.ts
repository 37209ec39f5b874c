/** benchmarks/document-questions: a made-up set, packed and unpacked; how replies are judged. */

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { hasEvidence, isInside } from "../../benchmarks/document-questions/judge.ts";
import { temporaryFolder } from "../support/training.ts";

const SCRIPTS = "benchmarks/document-questions";
const OVEN = "documents/library/oven-readme.md";
const LAMP = "documents/library/lamp.txt";
// Plain text: "Oven Heats to 250 °C in 8 minutes. 🔥 See manual." and "The lamp burns 9 W."
const DOCUMENTS: Readonly<Record<string, string>> = {
  [LAMP]: "The lamp\nburns 9 W.\n",
  [OVEN]: "# Oven\n\nHeats  to **250 °C** in\n8 minutes. 🔥 See [manual](https://example.org).\n",
};
const HEATS = "Heats to 250 °C in 8 minutes.";
const QUESTIONS = [
  asked("01", "fact", {
    answers: ["250 °C"],
    evidence: [HEATS, "250 °C in 8 minutes"],
    block: HEATS,
  }),
  asked("02", "how", { answers: ["manual"], evidence: ["See manual."], block: "See manual." }),
  asked("03", "yesno", { answers: ["yes"], evidence: ["burns 9 W."], block: "burns 9 W." }),
  asked("04", "none", { answers: [], evidence: [], none: "near miss" }),
];

function asked(id: string, kind: string, rest: object): object {
  const question = `What about ${id}?`;
  const file = { file: OVEN, paraphrased: false };
  return { id: `library-${id}`, genre: "library", kind, question, ...rest, ...file };
}

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
const lines = (records: readonly object[]): string[] =>
  records.map((record) =>
    JSON.stringify(record).replace(/("(?:[^"\\]|\\.)*")|([:,])/g, (_, text, mark) =>
      text ? text : `${mark} `,
    ),
  );
const write = (path: string, text: string): void => {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
};
const read = (...path: string[]): string => readFileSync(join(...path), "utf8");

function run(script: string, ...args: string[]): { status: number | null; output: string[] } {
  const { status, stdout, stderr } = spawnSync("python3", [`${SCRIPTS}/${script}`, ...args], {
    encoding: "utf8",
  });
  assert.is(stderr, "");
  return { status, output: stdout.trimEnd().split("\n") };
}

/** Writes the form with texts. */
function madeUpSet(folder: string, questions: readonly object[] = QUESTIONS) {
  const texts = join(folder, "texts");
  for (const [path, text] of Object.entries(DOCUMENTS)) write(join(texts, path), text);
  const documents = Object.entries(DOCUMENTS).map(([path, text]) => {
    const place = { path, registry: "own", package: "made-up", version: "1", file: path };
    return { ...place, url: null, licence: "MIT", sha256: sha256(text) };
  });
  write(join(texts, "documents.jsonl"), `${lines(documents).join("\n")}\n`);
  write(join(texts, "questions.jsonl"), `${lines(questions).join("\n")}\n`);
  write(join(folder, "sets/README.md"), "<!-- sets -->\n\nold\n\n<!-- /sets -->\n");
  return { texts, packed: join(folder, "sets/packed"), again: join(folder, "again") };
}

const hasPython = spawnSync("python3", ["--version"]).status === 0;
const testScripts = hasPython ? test : test.skip;

testScripts("texts become positions in characters, with checksums", async () => {
  await using folder = temporaryFolder();
  const set = madeUpSet(folder.path);
  const { status, output } = run("pack.py", set.texts, set.packed);
  assert.is(status, 0);
  assert.equal(output, ["4 questions, 2 documents, 0 faults"]);
  const at = (begin: number, end: number, text: string) => [begin, end, sha256(text).slice(0, 8)];
  const lamp = [LAMP, ...at(9, 19, "burns 9 W.")];
  const placed = [
    asked("01", "fact", {
      answers: [[0, 9, 15]],
      evidence: [at(5, 34, HEATS), at(14, 33, "250 °C in 8 minutes")],
      block: at(5, 34, HEATS),
    }),
    asked("02", "how", {
      answers: [[0, 4, 10]],
      evidence: [at(37, 48, "See manual.")],
      block: at(37, 48, "See manual."),
    }),
    asked("03", "yesno", { answers: ["yes"], evidence: [lamp], block: lamp }),
    asked("04", "none", { answers: [], evidence: [], none: "near miss" }),
  ];
  assert.is(read(set.packed, "questions.jsonl"), `${lines(placed).join("\n")}\n`);
  const readme = read(set.packed, "../README.md");
  assert.match(readme, /\| kind \| packed \|\n\|---\|---\|\n\| fact \| 1 \|/);
  assert.match(readme, "| own | made-up | 1 | MIT | packed | 2 |");
});

testScripts("positions become the same texts", async () => {
  await using folder = temporaryFolder();
  const set = madeUpSet(folder.path);
  run("pack.py", set.texts, set.packed);
  const { status, output } = run("unpack.py", set.packed, set.again);
  assert.is(status, 0);
  assert.equal(output, ["2 of 2 documents, 4 of 4 questions"]);
  for (const file of ["questions.jsonl", "documents.jsonl", OVEN, LAMP])
    assert.is(read(set.again, file), read(set.texts, file));
});

testScripts("a document that differs is named and left out with its questions", async () => {
  await using folder = temporaryFolder();
  const set = madeUpSet(folder.path);
  run("pack.py", set.texts, set.packed);
  write(join(set.packed, LAMP), "The lamp burns 8 W.");
  const { status, output } = run("unpack.py", set.packed, set.again);
  assert.is(status, 1);
  assert.equal(output, [
    `${LAMP}: the checksum is another one`,
    "1 of 2 documents, 3 of 4 questions",
  ]);
  assert.not.match(read(set.again, "questions.jsonl"), "library-03");
});

testScripts("a question whose text differs is named and left out", async () => {
  await using folder = temporaryFolder();
  const set = madeUpSet(folder.path);
  run("pack.py", set.texts, set.packed);
  const file = join(set.packed, "questions.jsonl");
  writeFileSync(file, read(file).replaceAll("[37, 48,", "[36, 47,"));
  const { status, output } = run("unpack.py", set.packed, set.again);
  assert.is(status, 1);
  assert.equal(output, [
    `library-02: ${OVEN} has another text from character 36 to 47`,
    "2 of 2 documents, 3 of 4 questions",
  ]);
});

testScripts("a set with faults is not packed", async () => {
  const faulty = asked("01", "fact", { answers: ["9 W"], evidence: ["The lamp burns 7 W."] });
  await using folder = temporaryFolder();
  const set = madeUpSet(folder.path, [faulty, faulty]);
  const { status, output } = run("pack.py", set.texts, set.packed);
  assert.is(status, 1);
  const of = ["not in the documents: The lamp burns 7 W.", "not in an evidence: 9 W"];
  assert.equal(output, [
    ...of.map((fault) => `library-01: ${fault}`),
    "library-01: the id is not unique",
    ...of.map((fault) => `library-01: ${fault}`),
    "2 questions, 2 documents, 5 faults",
  ]);
});

testScripts("no package of the repository is in two parts", () => {
  assert.match(run("disjoint.py").output.at(-1)!, /^\d+ packages, 0 faults$/);
});

test("a text has an evidence: with other marks, with small gaps, not with other words", () => {
  assert.ok(hasEvidence("The oven *heats* to 250 °C.", "heats to 250"));
  assert.ok(hasEvidence("| heats | up to | 250 | degrees | in | 8 |", "heats to 250 degrees in 8"));
  assert.not(hasEvidence("It heats to 200 kelvin in 9 hours.", "heats to 250 degrees in 8"));
  assert.not(hasEvidence("8 in degrees 250 to heats", "heats to 250 degrees in 8"));
  assert.ok(hasEvidence("| `--max-size` | 9 |", "--max-size"));
  assert.not(hasEvidence("| `--max-size` | 9 |", "max size"));
});

test("an answer is inside another if half of the words agree", () => {
  assert.ok(isInside("The 250 °C", "250 °C"));
  assert.ok(isInside("about 250", "250"));
  assert.not(isInside("it heats to about 250", "250")); // F1 = 2 / 6
  assert.not(isInside("9", "250"));
  assert.ok(isInside("*", "*"));
  assert.not(isInside("*", "+"));
});

test.run();
