/** Candidate lists of all sources: what the examples of a step are read with. */

import { join } from "node:path";
import * as fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { InputError } from "../../../src/io/errors.ts";
import type { Passage } from "../../../src/text/passage.ts";
import { loadTokenizer } from "../../../src/text/tokens/tokenizer.ts";
import type { CandidateRetriever } from "../../../src/training/examples/candidates.ts";
import { openCorpus } from "../../../src/training/examples/corpus.ts";
import type { Example } from "../../../src/training/examples/example.ts";
import { crops } from "../../../src/training/examples/sources/crops.ts";
import { labelSource } from "../../../src/training/examples/sources/labels.ts";
import { SOURCES } from "../../../src/training/examples/sources/list.ts";
import { maskedSpans } from "../../../src/training/examples/sources/masked-spans.ts";
import { titles } from "../../../src/training/examples/sources/titles.ts";
import {
  examplesOfStep,
  type TextExample,
  type TextExamples,
} from "../../../src/training/examples/step.ts";
import { stepRelevance } from "../../../src/training/examples/step-relevance.ts";
import { questionSource } from "../../../src/training/examples/training-questions.ts";
import {
  type CandidateSettings,
  withCandidates,
} from "../../../src/training/examples/with-candidates.ts";
import { capitals, finish, PASSAGES } from "../../support/adaptation.ts";
import { ALL, listOf, passagesOf, settingsIn } from "../../support/sources.ts";
import { TOKENIZER, temporaryFolder, writeLines } from "../../support/training.ts";
import { canBeRead } from "./can-be-read.ts";

interface Given {
  readonly source: string;
  readonly passages?: readonly Passage[];
  readonly examples: readonly Example[];
  readonly settings?: Partial<CandidateSettings>;
  readonly iteration?: number;
  readonly retriever?: CandidateRetriever;
}

/** The examples of an iteration. */
async function read(given: Given): Promise<TextExamples> {
  await using folder = temporaryFolder();
  const { passages = PASSAGES, settings, iteration = 0 } = given;
  await using corpus = await openCorpus(writeLines(join(folder.path, "corpus.jsonl"), passages));
  const all = settingsIn(folder.path, settings);
  const source = [...SOURCES, questionSource, labelSource].find(
    ({ name }) => name === given.source,
  )!;
  const data = withCandidates(all, corpus, source, given.examples);
  return await finish(data.examples(iteration, given.retriever));
}

const listed = ({ size, example }: TextExamples, step = 0): TextExample[] =>
  Array.from({ length: size }, (_, i) => example(i, step));
const trained = async (given: Given): Promise<TextExample[]> => listed(await read(given));
const idsOf = ({ passages }: TextExample): string[] => passages.map(({ id }) => id);

const QUESTIONS: readonly Example[] = PASSAGES.map(({ id, title }, i) => ({
  id: `${i + 1}`,
  question: `who opened the harbour of ${title}?`,
  answers: ["a king", "the king"],
  relevant: [id],
}));

test("data are known again, whatever order their fields are read back in", async () => {
  await using folder = temporaryFolder();
  await using corpus = await openCorpus(writeLines(join(folder.path, "corpus.jsonl"), PASSAGES));
  const cut = { passageId: "p0", extent: { start: 0, end: 9 } };
  const removal = { cut, title: "Oslo" };
  const made = { id: "a", question: "harbour", answers: [], relevant: ["p0"], removal };
  const { passageId, extent } = cut;
  const turned = { end: extent.end, start: extent.start };
  const readBack = {
    removal: { title: "Oslo", cut: { extent: turned, passageId } },
    ...{ relevant: ["p0"], answers: [], question: "harbour", id: "a" },
  };
  const digestOf = (example: Example): string =>
    withCandidates(settingsIn(folder.path), corpus, crops, [example]).digest;
  assert.is(digestOf(readBack), digestOf(made));
  assert.not.equal(digestOf({ ...made, question: "harbours" }), digestOf(made));
});

test("a question has its relevant passage among its candidates, and one answer as target", async () => {
  const examples = await read({ source: "questions", examples: QUESTIONS });
  assert.is(examples.size, 12);
  for (const [i, example] of listed(examples).entries()) {
    const { question, answers, relevant, scores, retrievalOnly } = example;
    assert.is(question, QUESTIONS[i]!.question);
    assert.is(new Set(idsOf(example)).size, 3);
    assert.ok(idsOf(example).includes(`p${i}`));
    assert.equal([relevant, answers, retrievalOnly], [[`p${i}`], ["a king", "the king"], false]);
    assert.is(scores, undefined);
  }
  const drawn = Array.from({ length: 20 }, (_, step) => examples.example(0, step).answer);
  assert.equal([...new Set(drawn)].sort(), ["a king", "the king"]);
  assert.equal(
    drawn,
    drawn.map((_, step) => examples.example(0, step).answer),
  );
});

test("where the reader only teaches, a relevance label is no text to generate", async () => {
  const taught = await trained({
    ...{ source: "labels", examples: LABELS, settings: { generatesLabels: false } },
  });
  assert.equal(
    taught.map(({ retrievalOnly, relevant }) => [retrievalOnly, relevant.length]),
    LABELS.map(({ relevant }) => [true, relevant.length]),
  );
});

test("a null passage takes the last place", async () => {
  const settings = { nullPassage: true, learnsRelevance: false };
  for (const { question, passages } of await trained({
    ...{ source: "questions", examples: QUESTIONS, settings },
  })) {
    assert.is(passages.length, 3);
    assert.equal(passages[2], { id: "", title: "", text: "" });
    assert.ok(passages.slice(0, 2).some(({ title }) => question.includes(title)));
  }
});

test("without reading, questions with scores keep their scored candidates", async () => {
  const [first, second, ...others] = QUESTIONS as [Example, Example, ...Example[]];
  const examples: Example[] = [
    { ...first, contexts: ["p4", "p5", "p6", "p7"], scores: [1, undefined, 3, 4] },
    { ...second, relevant: [], contexts: ["p8", "p9", "p10", "p11"], scores: [4, 3, 2, 1] },
    ...others,
  ];
  const retriever: CandidateRetriever = async (some) => some.map(() => ["p1", "p2"]);
  const given = { source: "questions", examples, iteration: 1, retriever } as const;
  const [one, two, three] = await trained({ ...given, settings: { learnsReading: false } });
  assert.equal(idsOf(one!), ["p4", "p6", "p0"]); // the labelled passage takes the last place
  assert.equal([one!.scores, one!.relevant], [[1, 3, undefined], ["p0"]]);
  assert.equal(idsOf(two!), ["p8", "p9", "p10"]);
  assert.equal([two!.scores, two!.relevant], [[4, 3, 2], []]);
  assert.equal(idsOf(three!).slice(0, 2), ["p1", "p2"]);
  const [reading] = await trained(given);
  assert.equal([idsOf(reading!), reading!.scores], [["p1", "p2", "p0"], undefined]);
});

test("candidates are found only for the questions of an iteration, other questions in each", async () => {
  const searched: string[] = [];
  const retriever: CandidateRetriever = async (some) => {
    searched.push(...some.map(({ question }) => question));
    return some.map(() => ["p0", "p1"]);
  };
  const settings = { candidatesPerQuestion: 2, steps: 2, questions: 3 };
  const iterations: string[][] = [];
  for (const iteration of [0, 1, 2]) {
    const examples = await trained({
      ...{ source: "questions", examples: QUESTIONS, settings, retriever, iteration },
    });
    assert.is(examples.length, 6);
    for (const { question, passages, relevant } of examples)
      assert.ok(question.includes(passages.find(({ id }) => id === relevant[0])!.title));
    iterations.push(examples.map(({ question }) => question));
    assert.equal(searched.splice(0), iterations.at(-1));
  }
  assert.ok(new Set(iterations.flat()).size > 6);
});

const LABELS: readonly Example[] = [
  { id: "q0", question: "trains to Oslo", answers: [], relevant: ["p0", "p7"], labels: [2, 1] },
  { id: "q1", question: "trains to Rome", answers: [], relevant: ["p2"], labels: [1] },
];

test("a labelled passage is drawn at each step, is a candidate, and is the target after its label", async () => {
  const examples = await read({ source: "labels", examples: LABELS });
  assert.is(examples.size, 2);
  const drawn: string[] = [];
  for (let step = 0; step < 400; step++) {
    const example = examples.example(0, step);
    const { answer, passages, relevant } = example;
    assert.is(passages.length, 3);
    const [, label, text] = /^relevance: (\d)\. (.*)$/.exec(answer)!;
    const target = passages.find((passage) => passage.text === text)!;
    assert.is(label, target.id === "p0" ? "2" : "1");
    drawn.push(target.id);
    assert.equal(relevant, ["p0", "p7"], "all labelled passages, whichever is drawn");
    if (step < 20) assert.equal(examples.example(0, step), example, "the same again");
  }
  assert.ok(Math.abs(drawn.filter((id) => id === "p0").length - 200) < 50);

  const tokenizer = await loadTokenizer(TOKENIZER);
  const limits = { seed: "0", step: 0, questions: 2, maxPassageTokens: 64, maxAnswerTokens: 9 };
  for (const { answer } of examplesOfStep(examples, tokenizer, limits)) {
    assert.is(answer.length, 9);
    assert.not.ok(answer.includes(tokenizer.eosId), "what was cut has no end");
  }
});

test("a crop trains retrieval alone; its passage is a candidate without the sentence", async () => {
  const made = await listOf(crops.examples(passagesOf(PASSAGES), ALL));
  const examples = await trained({ source: "crops", examples: made });
  assert.is(examples.length, 2 * PASSAGES.length);
  let cut = 0;
  for (const { question, passages, relevant, retrievalOnly } of examples) {
    assert.equal([passages.length, relevant.length, retrievalOnly], [3, 1, true]);
    if (!passages.find(({ id }) => id === relevant[0])!.text.includes(question)) cut++;
  }
  assert.ok(cut > examples.length / 2);
  const qa = { learnsRelevance: false };
  assert.equal(await trained({ source: "crops", examples: made, settings: qa }), []);
});

test("the candidates of a title are read without titles", async () => {
  const made = await listOf(titles.examples(passagesOf(PASSAGES), ALL));
  const examples = await trained({ source: "titles", examples: made });
  assert.is(examples.length, PASSAGES.length);
  for (const { passages } of examples) assert.ok(passages.every(({ title }) => title === ""));
});

const SENTENCE = "At night the barn owl hunts by ear in the fields.";
const OWLS: readonly Passage[] = [
  { id: "source", title: "", text: `${SENTENCE} It returns before the sun is up again.` },
  { id: "other", title: "", text: "A barn owl was seen by many people on that old farm." },
  { id: "copy", title: "", text: SENTENCE },
  { id: "fox", title: "", text: "At night foxes hunt by ear in the fields and in the woods." },
];
const MASKED: Example = {
  id: "source:0-49",
  question: SENTENCE.replace("barn owl", "<extra_id_0>"),
  answers: ["barn owl"],
  relevant: ["other"],
  removal: { copies: { sentence: SENTENCE, entity: "barn owl" } },
};

test("a masked name is generated from the other passages that contain it", async () => {
  const [example, ...rest] = await trained({
    ...{ source: "spans", passages: OWLS, examples: [MASKED] },
  });
  assert.equal(rest, []);
  const { answer, answers, passages, relevant, retrievalOnly } = example!;
  assert.equal([answer, answers, retrievalOnly], ["barn owl", ["barn owl"], false]);
  assert.equal(idsOf(example!).sort(), ["fox", "other", "source"]);
  assert.equal(relevant, ["other"]);
  assert.not.ok(passages.some(({ text }) => text.includes(SENTENCE)));
});

test("an example without a passage that helps is left out", async () => {
  const passages = OWLS.filter(({ id }) => id !== "other");
  const examples = [{ ...MASKED, relevant: [] }];
  assert.equal(await trained({ source: "spans", passages, examples }), []);
});

test("a near copy of the relevant passage is no candidate, and no negative", async () => {
  const copy = { id: "copy", title: "", text: `${PASSAGES[0]!.text} Reprinted.` };
  const [example] = await trained({
    ...{ source: "questions", passages: [...PASSAGES, copy], examples: QUESTIONS.slice(0, 1) },
    retriever: async (examples, topK) =>
      examples.map(() => ["copy", "p0", "p1", "p2"].slice(0, topK)),
  });
  assert.equal(idsOf(example!), ["p0", "p1"]);
  assert.equal(example!.copies, ["copy"]);
  const other = { ...example!, passages: [copy, PASSAGES[3]!], relevant: ["p3"], copies: [] };
  const [relevance] = stepRelevance([example!, other]);
  assert.equal(relevance, { positives: [0], notNegatives: [copy] });
});

test("a huge document is read from its beginning", async () => {
  const rest = "and then it went on and on without end ".repeat(50_000);
  const huge = { id: "huge", title: "", text: `The barn owl hunts here ${rest}` };
  const [example] = await trained({
    ...{ source: "spans", passages: [...OWLS, huge], settings: { maxPassageTokens: 32 } },
    examples: [{ ...MASKED, relevant: ["huge"] }],
  });
  assert.ok(example!.passages.every(({ text }) => text.length <= 32 * 6));
});

const spansOf = (passages: readonly Passage[]) =>
  listOf(maskedSpans(capitals).examples(passagesOf(passages), ALL));

test("one passage is empty (REALM)", async () => {
  const settings = { nullPassage: true };
  const examples = await spansOf(PASSAGES);
  for (const { passages } of await trained({ source: "spans", examples, settings })) {
    assert.is(passages.filter(({ title }) => title === "").length, 1);
    assert.equal(passages.at(-1), { id: "", title: "", text: "" });
  }
});

test("a sentence whose answer no candidate contains trains retrieval only", async () => {
  const alone = [
    "Once Anna went by the old road. All of it was very wide there, as they said.",
    "Then all of them saw Bruno on that very old and wide road.",
    "Not one of them was there when Clara came down the old road.",
  ].map((text, i) => ({ id: "xyz"[i]!, title: "", text }));
  const answersOf = async (passages: readonly Passage[], settings = {}) => {
    const examples = await spansOf(passages);
    return (await trained({ source: "spans", passages, examples, settings }))
      .map(({ answer, retrievalOnly, relevant }) => `${answer} ${retrievalOnly} ${relevant}`)
      .sort();
  };
  // nothing is left of the other source passages
  assert.equal(await answersOf(alone), ["Anna true x"]);
  const named = [...alone, { id: "w", title: "Clara", text: "she was there" }];
  assert.equal(await answersOf(named), ["Anna true x", "Clara false z"]);
  assert.equal(await answersOf(named, { learnsRelevance: false }), ["Clara false z"]);
  assert.equal(await answersOf(named, { learnsReading: false }), ["Anna true x", "Clara false "]);
  assert.is((await answersOf(named, { nullPassage: true })).length, 3);
});

test("no masked sentence can be read in any passage of its own example, through the whole task", async () => {
  const word = fc.constantFrom(..."the river Oslo was old Rome and wide near Bern".split(" "));
  const end = fc.constantFrom(". ", "! ", " ", ", ", "\n", ".\n\n", " (", ") ", '" ');
  const text = fc
    .array(fc.tuple(word, end), { maxLength: 40 })
    .map((pieces) => pieces.flat().join(""));
  const texts = fc.array(text, { minLength: 3, maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(texts, fc.boolean(), async (raw, nullPassage) => {
      const everywhere = "He said that Oslo the wide river was old and near. ";
      const passages = [everywhere, ...raw, `${raw[0]} ${everywhere.toUpperCase()}`].map(
        (text, id) => ({ id: `${id}`, title: text, text }),
      );
      const examples = await spansOf(passages);
      const settings = { nullPassage };
      for (const { question, answer, ...example } of await trained({
        ...{ source: "spans", passages, examples, settings },
      })) {
        const sentence = question.replace("<extra_id_0>", () => answer);
        assert.ok(example.passages.length > 0 && example.passages.length <= 3);
        for (const passage of example.passages) {
          assert.not.ok(canBeRead(sentence, passage.text), JSON.stringify([sentence, passage]));
          assert.not.ok(canBeRead(sentence, passage.title), JSON.stringify([sentence, passage]));
        }
      }
    }),
    { numRuns: 60 },
  );
});

test("a resumed run reads its candidates; other examples are refused", async () => {
  await using folder = temporaryFolder();
  await using corpus = await openCorpus(writeLines(join(folder.path, "corpus.jsonl"), PASSAGES));
  const ask = (resume: boolean, examples: readonly Example[], retriever?: CandidateRetriever) => {
    const settings = settingsIn(folder.path, { resume });
    return finish(
      withCandidates(settings, corpus, questionSource, examples).examples(0, retriever),
    );
  };
  const first = listed(await ask(false, QUESTIONS));
  const none = async () => assert.unreachable("is not searched again");
  assert.equal(listed(await ask(true, QUESTIONS, none as never)), first);
  const error = await ask(true, QUESTIONS.slice(1)).catch((thrown: Error) => thrown);
  assert.instance(error, InputError);
  assert.match((error as Error).message, /expected the training data that the run began with/);
});

test("a corpus of fewer passages than candidates is refused at once", async () => {
  const passages = PASSAGES.slice(0, 2);
  const error = await read({ source: "questions", passages, examples: QUESTIONS }).catch(
    (thrown: Error) => thrown,
  );
  assert.match((error as Error).message, /expected a corpus of at least 3 passages, got 2/);
});

test.run();
