import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { evaluateAnswers, readPredictions } from "../../src/evaluation/predictions.ts";
import { InputError } from "../../src/io/errors.ts";

const test = suite<{ file: string }>("predictions");
test.before(async (context) => {
  context.file = join(await mkdtemp(join(tmpdir(), "reatt-predictions-")), "predictions.jsonl");
});
test.after(({ file }) => rm(join(file, ".."), { recursive: true }));

const questions = [
  { id: "1", question: "Who?", answers: ["Marie Curie", "Curie"] },
  { id: "2", question: "Where?", answers: ["Warsaw"] },
  { id: "3", question: "When?", answers: ["A"] },
];

test("means over all questions, worked by hand", () => {
  const predictions = new Map([
    ["1", { answer: "Madame Curie", passages: ["nothing", "about Marie Curie", "Curie again"] }],
    ["2", { answer: "the Warsaw", passages: ["born in Warsaw"] }],
    ["other", { answer: "Curie", passages: [] }],
  ]);
  const { measures, ...counts } = evaluateAnswers(predictions, questions, [1, 2, 3, 5]);
  assert.equal(counts, { questions: 3, unanswered: 1, unanswerable: 0 });
  // F1 of "Madame Curie": 1 of 2 + 2 against the first, 1 of 2 + 1 against the second.
  assert.equal(measures, {
    exactMatch: 1 / 3,
    f1: (2 / 3 + 1) / 3,
    "recall@1": 1 / 3,
    "mrr@1": 1 / 3,
    "p@1": 1 / 3,
    "recall@2": 2 / 3,
    "mrr@2": (1 / 2 + 1) / 3,
    "p@2": (1 / 2 + 1 / 2) / 3,
    "recall@3": 2 / 3,
    "mrr@3": (1 / 2 + 1) / 3,
    "p@3": (2 / 3 + 1 / 3) / 3,
  });
});

test("a question without a prediction counts 0 even if its answer normalises to nothing", () => {
  const answered = new Map([["3", { answer: "a", passages: [] }]]);
  assert.is(evaluateAnswers(answered, questions).measures.exactMatch, 1 / 3);
  const other = new Map([["1", { answer: "?", passages: [] }]]);
  assert.equal(evaluateAnswers(other, questions).measures, { exactMatch: 0, f1: 0 });
});

test("reads the output of the answer command", async ({ file }) => {
  await writeFile(
    file,
    '{"id": "1", "answer": "x", "confidence": 0.5, "passages": [{"id": "p", "title": "", "text": "t", "score": 1}]}\n{"id": 2, "answer": ""}\n',
  );
  assert.equal(
    [...(await readPredictions(file))],
    [
      ["1", { answer: "x", passages: ["t"], pages: ["p"] }],
      ["2", { answer: "", passages: [], pages: [] }],
    ],
  );
});

test("KILT's scores, worked by hand: an answer counts if all its pages were found first", () => {
  const asked = [
    { id: "1", question: "Who?", answers: ["Curie"], provenance: [["Curie", "Radium"]] },
    { id: "2", question: "Where?", answers: ["in Warsaw"], provenance: [["A", "B"], ["Warsaw"]] },
    { id: "3", question: "When?", answers: ["1867"], provenance: [["Curie"]] },
    { id: "4", question: "Why?", answers: ["x"], provenance: [["A"], ["B", "C"]] },
  ];
  const passages: string[] = [];
  const predictions = new Map([
    // Two distinct pages of two: 1. The answer is right.
    ["1", { answer: "Curie", passages, pages: ["Radium", "Radium", "Curie", "A"] }],
    // Of A and B none is among the first two; Warsaw is the first: 1. F1 of "Warsaw" is 2/3.
    ["2", { answer: "Warsaw", passages, pages: ["Warsaw", "C"] }],
    // The page is second, the answer right: 0.
    ["3", { answer: "1867", passages, pages: ["Radium", "Curie"] }],
    // One of two pages: 1/2.
    ["4", { answer: "x", passages, pages: ["B", "A"] }],
  ]);
  assert.equal(evaluateAnswers(predictions, asked).measures, {
    exactMatch: 3 / 4,
    f1: (1 + 2 / 3 + 1 + 1) / 4,
    rprec: (1 + 1 + 0 + 1 / 2) / 4,
    kiltExactMatch: 1 / 4,
    kiltF1: (1 + 2 / 3) / 4,
  });
  const unanswered = evaluateAnswers(new Map([["1", predictions.get("1")!]]), asked).measures;
  assert.equal([unanswered.rprec, unanswered.kiltF1], [1 / 4, 1 / 4]);
});

test("errors name file and line", async ({ file }) => {
  for (const [text, words] of [
    ['{"id": "1"}', /:1: expected "answer" as text, got nothing; /],
    [
      '{"id": "1", "answer": "x"}\n{"id": 1, "answer": "y"}',
      /:2: expected one prediction .* got "1" again/,
    ],
    [
      '{"id": "1", "answer": "x", "passages": ["p"]}',
      /:1: expected "passages\.0" as .*, got 'p'; /,
    ],
    ["3", /:1: expected an object .*, got 3; /],
  ] as const) {
    await writeFile(file, text);
    const error: unknown = await readPredictions(file).catch((reason) => reason);
    assert.instance(error, InputError);
    assert.match((error as Error).message, words);
  }
});

test("an abstention is right where there is no answer, as in SQuAD 2.0", () => {
  const predictions = new Map([
    ["1", { answer: "Curie", passages: ["by Curie"] }],
    ["2", { answer: "", passages: ["by Curie"] }],
    ["3", { answer: "", passages: ["nothing"] }],
    ["4", { answer: "Curie", passages: ["nothing"] }],
  ]);
  const asked = [
    { id: "1", question: "Who?", answers: ["Curie"] },
    { id: "2", question: "Who?", answers: ["Curie"] },
    { id: "3", question: "Who?", answers: [] },
    { id: "4", question: "Who?", answers: [] },
  ];
  const { measures, unanswerable } = evaluateAnswers(predictions, asked, [1]);
  assert.is(unanswerable, 2);
  assert.equal(measures, {
    ...{ exactMatch: 1 / 2, f1: 1 / 2, "recall@1": 1, "mrr@1": 1, "p@1": 1 },
    ...{ abstained: 1 / 2, lost: 1 / 2 },
  });
});

test.run();
