import { existsSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import type { Passage } from "../../../src/text/passage.ts";
import { openCorpus } from "../../../src/training/examples/corpus.ts";
import type { ExampleSource } from "../../../src/training/examples/example-source.ts";
import {
  type MaskedDataOptions,
  maskedSentenceData,
} from "../../../src/training/examples/masked-sentence-data.ts";
import { loadMaskedSentences } from "../../../src/training/examples/sample-masked-sentences.ts";
import {
  type ResolvedOptions,
  type RunOptions,
  withDefaults,
} from "../../../src/training/options/train-options.ts";
import type { MaskedSentence } from "../../../src/training/salient-spans/index.ts";
import { capitals, finish, PASSAGES } from "../../support/adaptation.ts";
import { temporaryFolder, writeLines } from "../../support/training.ts";

const ReAttsWay: MaskedDataOptions = { sourcePassage: "without-sentence", nullPassage: false };

interface Made {
  readonly options: ResolvedOptions;
  readonly sentences: MaskedSentence[];
  readonly source: ExampleSource;
}

async function make(
  folder: string,
  passages: readonly Passage[],
  masking: MaskedDataOptions,
  changes: Partial<RunOptions> = {},
  onStage: (name: string) => void = () => {},
): Promise<Made> {
  const corpus = writeLines(join(folder, "corpus.jsonl"), passages);
  const options: ResolvedOptions = withDefaults({
    ...{ model: "unused", data: "unused", corpus, out: folder, candidatesPerQuestion: 3 },
    ...changes,
  });
  await using opened = await openCorpus(corpus);
  const sentences = await finish(
    loadMaskedSentences(options, opened, 5 * passages.length, capitals),
  );
  const source = await finish(
    maskedSentenceData(options, opened, sentences, masking).examples(0, undefined),
    (event) => event.type === "stage" && onStage(event.name),
  );
  return { options, sentences, source };
}

const examplesOf = ({ source }: Made) =>
  Array.from({ length: source.size }, (_, i) => source.example(i, 0));

test("the source passage is a candidate, without the masked sentence", async () => {
  await using folder = temporaryFolder();
  const made = await make(folder.path, PASSAGES, ReAttsWay);
  assert.is(made.source.size, 2 * PASSAGES.length);
  for (const { question, answer: city, passages } of examplesOf(made)) {
    assert.match(question, "<extra_id_0>");
    assert.not.match(question, city);
    assert.is(passages.length, 3);
    const own = passages.find(({ title }) => title === city)!;
    assert.is((own.text.match(new RegExp(city, "g")) ?? []).length, 1, "one of its two sentences");
  }
});

test("REALM's way: the source passage is left out, and one passage is empty", async () => {
  await using folder = temporaryFolder();
  const made = await make(folder.path, PASSAGES, { sourcePassage: "excluded", nullPassage: true });
  for (const { answer, passages } of examplesOf(made)) {
    assert.is(passages.filter(({ title }) => title === "").length, 1);
    assert.not.ok(passages.some(({ title }) => title !== "" && answer.includes(title)));
    assert.equal(passages.at(-1), { id: "", title: "", text: "" });
  }
});

test("a sentence whose answer no candidate contains trains retrieval only", async () => {
  const alone = [
    {
      id: "x",
      title: "",
      text: "Once Anna went by the old road. All of it was very wide there, as they said.",
    },
    { id: "y", title: "", text: "Then all of them saw Bruno on that very old and wide road." },
    { id: "z", title: "", text: "Not one of them was there when Clara came down the old road." },
  ];
  await using folder = temporaryFolder();
  const without = await make(folder.path, alone, ReAttsWay);
  assert.equal(
    examplesOf(without).map(({ answer, retrievalOnly }) => [answer, retrievalOnly]),
    [["Anna", true]], // nothing is left of the other source passages
  );
  await using other = temporaryFolder();
  const told = { id: "w", title: "Clara", text: "she was there" };
  const stages: string[] = [];
  const mixed = await make(other.path, [...alone, told], ReAttsWay, {}, (stage) =>
    stages.push(stage),
  );
  assert.equal(
    examplesOf(mixed)
      .map(({ answer, retrievalOnly, relevant }) => `${answer} ${retrievalOnly} ${relevant}`)
      .sort(),
    ["Anna true x", "Clara false z"],
  );
  assert.ok(stages.some((stage) => stage.startsWith("1 of 2 masked sentences train retrieval")));
  await using second = temporaryFolder();
  const marginal = { objective: "marginal", nullPassage: false } as const;
  const reading = await make(second.path, [...alone, told], ReAttsWay, marginal);
  assert.equal(
    examplesOf(reading).map(({ answer }) => answer),
    ["Clara"],
    "marginal needs answers",
  );
  await using third = temporaryFolder();
  const empty = await make(third.path, [...alone, told], { ...ReAttsWay, nullPassage: true });
  assert.is(examplesOf(empty).length, 3);
  assert.ok(examplesOf(empty).every(({ retrievalOnly }) => !retrievalOnly));
});

test("a resumed run reads the saved sentences; another seed draws others", async () => {
  await using folder = temporaryFolder();
  const first = await make(folder.path, PASSAGES, ReAttsWay);
  assert.ok(existsSync(join(folder.path, "masked-sentences.jsonl")));
  const again = await make(folder.path, PASSAGES, ReAttsWay, { resume: true });
  assert.equal(again.sentences, first.sentences);
  assert.equal(examplesOf(again), examplesOf(first));
  const error = await make(folder.path, PASSAGES, ReAttsWay, { resume: true, seed: 1 }).catch(
    (e: Error) => e,
  );
  assert.match((error as Error).message, /masked sentences that the run began with/);
  const other = await make(folder.path, PASSAGES, ReAttsWay, { seed: 1 });
  assert.not.equal(examplesOf(other), examplesOf(first));
});

/** Whether the words of `part` stand in sequence in `text`; written without the code under test. */
function canBeRead(part: string, text: string): boolean {
  const plain = (raw: string) =>
    ` ${raw
      .toLowerCase()
      .replace(/[^\p{L}\p{N}]+/gu, " ")
      .trim()} `;
  return plain(text).includes(plain(part));
}

test("no masked sentence can be read in any passage of its own example, through the whole task", async () => {
  const word = fc.constantFrom(
    "the",
    "river",
    "Oslo",
    "was",
    "old",
    "Rome",
    "and",
    "wide",
    "near",
    "Bern",
  );
  const end = fc.constantFrom(". ", "! ", " ", ", ", "\n", ".\n\n", " (", ") ", '" ');
  const text = fc
    .array(fc.tuple(word, end), { maxLength: 40 })
    .map((pieces) => pieces.flat().join(""));
  const texts = fc.array(text, { minLength: 3, maxLength: 6 });
  const ways = fc.record({
    sourcePassage: fc.constantFrom("without-sentence" as const, "excluded" as const),
    nullPassage: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(texts, ways, async (raw, masking) => {
      const everywhere = "He said that Oslo the wide river was old and near. ";
      const corpus = [everywhere, ...raw, `${raw[0]} ${everywhere.toUpperCase()}`].map(
        (text, id) => ({
          id: `${id}`,
          title: text,
          text,
        }),
      );
      await using folder = temporaryFolder();
      const made = await make(folder.path, corpus, masking);
      const sentences = new Map(
        made.sentences.map((masked) => [`${masked.question} ${masked.entity}`, masked]),
      );
      for (const { question, answer, passages } of examplesOf(made)) {
        const { entity } = sentences.get(`${question} ${answer}`)!;
        const sentence = question.replace("<extra_id_0>", () => entity);
        assert.ok(passages.length > 0 && passages.length <= 3);
        for (const passage of passages) {
          assert.not.ok(canBeRead(sentence, passage.text), JSON.stringify([sentence, passage]));
          assert.not.ok(canBeRead(sentence, passage.title), JSON.stringify([sentence, passage]));
        }
      }
    }),
    { numRuns: 60 },
  );
});

test("a corpus without a sentence to mask is one clear line, and leaves nothing", async () => {
  await using folder = temporaryFolder();
  const passages = [
    { id: "a", title: "", text: "" },
    { id: "b", title: "", text: "no names here" },
    { id: "c", title: "", text: "nor here" },
  ];
  const error = await make(folder.path, passages, ReAttsWay).catch((thrown: Error) => thrown);
  assert.match(
    (error as Error).message,
    /expected a sentence with a name or a date, got none in 3 passages/,
  );
  assert.not.ok(existsSync(join(folder.path, "masked-sentences.jsonl")));
});

test.run();
