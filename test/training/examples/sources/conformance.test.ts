/**
 * What every source of examples promises: the seed decides, ids are unique, relevant passages exist
 * and are read without what the example says is removed, about as many examples as are wanted, and
 * a resumed run reads the same ones.
 *
 * A new source fails here until `CASES` has it.
 */

import { readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { InputError } from "../../../../src/io/errors.ts";
import type { Passage } from "../../../../src/text/passage.ts";
import { adapt } from "../../../../src/training/adapt.ts";
import { type Corpus, openCorpus } from "../../../../src/training/examples/corpus.ts";
import { type Example, MASK, readAs } from "../../../../src/training/examples/example.ts";
import { kept } from "../../../../src/training/examples/kept.ts";
import { madeExample, madeExamples } from "../../../../src/training/examples/made-examples.ts";
import { SOURCES } from "../../../../src/training/examples/sources/list.ts";
import { MAX_PER_PASSAGE } from "../../../../src/training/examples/sources/sampling.ts";
import { defineSource, type Source } from "../../../../src/training/examples/sources/source.ts";
import { withCandidates } from "../../../../src/training/examples/with-candidates.ts";
import {
  type AdaptOptions,
  requestedSources,
} from "../../../../src/training/options/adapt-options.ts";
import { finish } from "../../../support/adaptation.ts";
import { passagesOf, settingsIn, textsOf } from "../../../support/sources.ts";
import { temporaryFolder, writeLines, writeTinyModel } from "../../../support/training.ts";

interface Case {
  readonly source: Source;
  /** Passages of which most have an example. */
  readonly passages: readonly Passage[];
}

const BIRDS = ["barn owl", "snowy owl", "red kite", "barn swallow", "grey heron"];
const CITIES = ["Oslo", "Bern", "Rome", "Lima", "Kyiv", "Bonn", "Graz"];
const PASSAGES: readonly Passage[] = Array.from({ length: 60 }, (_, i) => ({
  id: `p${i}`,
  title: `Report ${"abcdefghijklmnopqrst"[i % 20]}${i} on the ${BIRDS[i % 5]}`,
  text:
    `In ${1900 + i} the ${BIRDS[i % 5]} number ${i} was seen near the harbour of ${CITIES[i % 7]}. ` +
    `People of village ${i} came by train and stayed for ${i} days to hear it sing.`,
}));

const [spans, crops, titles] = SOURCES;
/** By the name of the source. */
const CASES: Readonly<Record<string, Case>> = {
  spans: { source: spans, passages: PASSAGES },
  crops: { source: crops, passages: PASSAGES },
  titles: { source: titles, passages: PASSAGES },
};

test("every source of the package has a case", () => {
  for (const source of SOURCES)
    assert.is(CASES[source.name]?.source, source, `${source.name} has no case in CASES`);
});

/** The examples of a source, checked as a run checks them. */
async function made(
  source: Source,
  passages: readonly Passage[],
  sample = { wanted: 1_000, seed: 0 },
): Promise<Example[]> {
  const corpus = { ids: passages.map(({ id }) => id) };
  return finish(madeExamples(source, corpus, passagesOf(passages), sample));
}

const sorted = (examples: readonly Example[]): string[] =>
  examples.map((example) => JSON.stringify(example)).sort();

/** Whether the passage that is read has nothing of what is removed. */
function isRemoved({ question, answers, removal }: Example, read: Passage): boolean {
  const sentence = question.replace(MASK, () => answers[0] ?? "");
  if (removal?.title !== undefined) return read.title === "" && !read.text.startsWith(question);
  return !read.text.includes(sentence);
}

for (const [name, { source, passages }] of Object.entries(CASES)) {
  test(`${name}: its traits are text, and its examples are unique and of the corpus`, async () => {
    assert.is(source.name, name);
    for (const text of [source.relevant, source.stage]) assert.match(text, /^\S.*[^.\s]$/);
    assert.ok(source.draws >= 1);
    const examples = await made(source, passages); // throws for an id twice or of no passage
    assert.ok(examples.length >= passages.length / 2, `${examples.length} examples`);
    for (const { question, relevant } of examples)
      assert.ok(question.trim() !== "" && relevant.length > 0);
  });

  test(`${name}: the seed decides`, async () => {
    const few = { wanted: 20, seed: 3 };
    const first = await made(source, passages, few);
    assert.equal(await made(source, passages, few), first);
    assert.not.equal(sorted(await made(source, passages, { ...few, seed: 4 })), sorted(first));
  });

  test(`${name}: a relevant passage is read without what is removed, and keeps its answers`, async () => {
    const byId = new Map(passages.map((passage) => [passage.id, passage]));
    for (const example of await made(source, passages)) {
      const removes = Object.keys(example.removal ?? {}).length > 0;
      let readable = 0;
      for (const id of example.relevant) {
        const read = readAs(example.removal ?? {}, byId.get(id)!);
        if (!read) continue;
        readable++;
        if (removes) assert.ok(isRemoved(example, read), JSON.stringify([example, read]));
        else assert.ok(read.text.includes(example.question));
      }
      assert.ok(readable > 0, `nothing is left for ${example.id}`);
      for (const answer of example.answers)
        assert.ok(
          example.relevant.some((id) => byId.get(id)!.text.includes(answer)),
          answer,
        );
    }
  });

  test(`${name}: about as many examples as are wanted`, async () => {
    for (const wanted of [1, 12, 30]) {
      const { length } = await made(source, passages, { wanted, seed: 1 });
      // Passages are drawn one by one: the deviation of their number is at most its root.
      assert.ok(length <= wanted + 4 * Math.sqrt(wanted), `${length} of ${wanted}`);
      assert.ok(length >= wanted - 4 * Math.sqrt(wanted), `${length} of ${wanted}`);
    }
    const all = await made(source, passages, { wanted: 100_000, seed: 1 });
    assert.ok(all.length <= MAX_PER_PASSAGE * passages.length);
  });

  test(`${name}: tiny corpora and texts without words`, async () => {
    const tiny = [[], [""], ["a"], [" \n", "…"], ["owls"], ["a b c d e f", "a b c d e f"]];
    for (const texts of tiny) {
      const corpus = textsOf(...texts);
      const ids = texts.map((_, i) => `p${i}`);
      const sample = { wanted: 5, seed: 0 };
      const found = await finish(madeExamples(source, { ids }, corpus, sample));
      assert.ok(found.length <= 5 * texts.length, JSON.stringify(texts));
    }
  });

  test(`${name}: a resumed run reads the same examples, and the same candidates`, async () => {
    await using folder = temporaryFolder();
    await using corpus = await openCorpus(writeLines(join(folder.path, "corpus.jsonl"), passages));
    const first = await readIn(folder.path, corpus, source, false);
    assert.ok(first.length > 0);
    assert.equal(await readIn(folder.path, corpus, source, true), first);
  });
}

/** The examples of an iteration as a run reads them: a new one, or one that is resumed. */
async function readIn(folder: string, corpus: Corpus, source: Source, resume: boolean) {
  const sample = { wanted: 40, seed: 0 };
  const file = join(folder, `examples-${source.name}.jsonl`);
  const keeping = { file, resume, noun: "examples", identity: sample, item: madeExample };
  const examples = await finish(
    kept(keeping, () => {
      assert.not.ok(resume, "a resumed run makes no examples");
      return madeExamples(source, corpus, corpus, sample);
    }),
  );
  const settings = settingsIn(folder, { resume });
  const data = withCandidates(settings, corpus, source, examples);
  const { size, example } = await finish(data.examples(0, undefined));
  return Array.from({ length: size }, (_, i) => example(i, 0));
}

/** The first words of a passage. Its examples have their fields in an order of their own. */
const openings = defineSource({
  name: "openings",
  relevant: "the passage that begins with the words",
  stage: "taking the first words of passages",
  draws: 1,
  async *examples(corpus, { wanted }) {
    let made = 0;
    for await (const { id, text } of corpus.passages()) {
      const question = text.split(" ").slice(0, 6).join(" ");
      if (text.length < 2 * question.length) continue;
      if (++made > wanted) return;
      const extent = { end: question.length, start: 0 };
      yield {
        removal: { cut: { extent, passageId: id } },
        relevant: [id],
        answers: [],
        question,
        id,
      };
    }
  },
});

test("a source of one's own has what the others have, whatever the order of its fields", async () => {
  await using folder = temporaryFolder();
  await using corpus = await openCorpus(writeLines(join(folder.path, "corpus.jsonl"), PASSAGES));
  const first = await readIn(folder.path, corpus, openings, false);
  assert.is(first.length, 40);
  assert.equal(await readIn(folder.path, corpus, openings, true), first);
});

test("a source of one's own is planned beside the others", async () => {
  await using folder = temporaryFolder();
  const model = join(folder.path, "model");
  await mkdir(model);
  await writeTinyModel(model);
  const corpus = writeLines(join(folder.path, "corpus.jsonl"), PASSAGES);
  const options = { model, corpus, out: join(folder.path, "out"), steps: 3, dryRun: true };
  const { plan } = await finish(
    adapt({ ...options, sources: ["crops", openings], weights: { openings: 2 } }),
  );
  assert.equal(plan.sources, [
    { name: "crops", examples: 120 },
    { name: "openings", examples: 60 },
  ]);
  assert.is(plan.samples.filter((sample) => sample.startsWith("openings p")).length, 5);
});

test("the source of the guide is that of defineSource, which is run", () => {
  const guide = readFileSync("docs/ADAPTATION.md", "utf8");
  const [source] = /const openings = defineSource\([\s\S]*?\n\}\);\n/.exec(guide)!;
  const documented = readFileSync("src/training/examples/sources/source.ts", "utf8");
  assert.ok(documented.replaceAll(/^ \* ?/gm, "").includes(source));
});

test("what a source of one's own must not be, or give, is one clear line", async () => {
  const message = async (call: () => unknown): Promise<string> => {
    const error = await Promise.resolve()
      .then(call)
      .catch((thrown: Error) => thrown);
    assert.instance(error, InputError);
    return (error as Error).message;
  };
  const wrong = (fields: object) =>
    message(() => defineSource({ ...openings, ...fields } as Source));
  assert.match(
    await wrong({ name: "My source" }),
    /^name: expected small letters, .*, got 'My sou/,
  );
  assert.match(await wrong({ draws: 0.5 }), /^draws: expected a number from 1 on, got 0.5/);
  assert.match(await wrong({ examples: [] }), /^examples: expected a function, got \[\]/);
  assert.match(
    await wrong({ stages: "" }),
    /^source: expected names .* "stages"; did you mean "stage"/,
  );
  const named = (sources: AdaptOptions["sources"]) =>
    message(() => requestedSources({ out: "out", sources }));
  const twice = defineSource({ ...openings, name: "crops" });
  assert.match(
    await named([twice]),
    /^sources: expected sources with different names, got "crops"/,
  );
  assert.match(await named([openings, openings]), /got "openings" twice/);
  assert.match(
    await named(["openings" as "crops"]),
    /or what defineSource returns, got "openings"/,
  );
  assert.match(
    await named([{} as Source]),
    /^sources\.0: expected names among spans, .*, got \{\}/,
  );
  const good: Example = { id: "1", question: "?", answers: [], relevant: ["p0"] };
  const giving = (...examples: object[]) =>
    message(() =>
      made(
        { ...openings, examples: () => Readable.from(examples) as AsyncIterable<Example> },
        PASSAGES,
      ),
    );
  assert.match(
    await giving({ ...good, id: 1 }),
    /^source openings: expected examples .*, got id: text/,
  );
  assert.match(await giving({ ...good, question: "" }), /got question: a question/);
  assert.match(await giving(good, good), /^source openings: expected a new id, got '1'/);
  assert.match(
    await giving({ ...good, relevant: ["x"] }),
    /relevant passages of the corpus in 1, got 'x'/,
  );
});

test.run();
