import { test } from "uvu";
import * as assert from "uvu/assert";
import { buildBm25 } from "../../../src/retrieval/bm25/bm25.ts";
import { wordsOf } from "../../../src/retrieval/hybrid.ts";
import { openIndex } from "../../../src/retrieval/open-index.ts";
import { choosePassages } from "../../../src/retrieval/query/choose-passages.ts";
import { keywordsOf } from "../../../src/retrieval/query/keywords.ts";
import type { WordSearch } from "../../../src/retrieval/search/word-search.ts";
import { build, temporary } from "../support.ts";

const keywords = (question: string): string[] =>
  keywordsOf(question).map(({ kind, name, value }) =>
    [kind, name, value].filter(Boolean).join(" "),
  );

test("phrases, words with a hyphen and fields are keywords", () => {
  assert.equal(keywords('"minimum wage" -draft year:2024 author:"Jane Doe"'), [
    "phrase minimum wage",
    "without draft",
    "field year 2024",
    "field author Jane Doe",
  ]);
});

for (const question of [
  'What does "Not sure" mean?',
  "how do I use grep -rn",
  'Mouse models can be generated using "artificial spermatids."',
  'This paper describes "unstructured" documents',
  "state-of-the-art methods",
  "pages 5 -10, and - as ever - more",
  "https://example.org/a:b at 10:30",
  'a 5" pipe and a 6" pipe',
  "note: see below",
  "std::vector",
  '""',
  "-",
])
  test(`a question keeps its words: ${question}`, () => assert.equal(keywords(question), []));

const PASSAGES = [
  { id: "wage", title: "Pay", text: "The minimum wage is paid monthly.", metadata: { year: 2024 } },
  { id: "draft", title: "Pay", text: "Draft: the minimum wage.", metadata: { year: 2023 } },
  { id: "order", title: "Pay", text: "A wage above the minimum.", document: "pay/Old Rules.md" },
  {
    id: "find",
    title: "find",
    text: "Give `find -name PATTERN` a name.",
    metadata: { tags: ["Unix"] },
  },
];

/** The passages that a question chooses, and what remains of it; undefined without keywords. */
async function chosen(question: string, inMemory: boolean) {
  await using directory = await temporary();
  await build(directory.path, PASSAGES);
  await using index = await openIndex(directory.path);
  const own = async (): Promise<WordSearch> =>
    inMemory ? await buildBm25(PASSAGES) : wordsOf(index);
  const found = await choosePassages(index, own, question);
  const ids = PASSAGES.filter((_, ordinal) => found?.accept(ordinal)).map(({ id }) => id);
  return found && [found.text, ...ids];
}

for (const inMemory of [false, true]) {
  const where = inMemory ? "in memory" : "stored";
  test(`keywords choose passages, words ${where}`, async () => {
    const expected: Record<string, string[] | undefined> = {
      '"minimum wage"': ['"minimum wage"', "wage", "draft"],
      "“Minimum  wage” -draft": ['"Minimum wage"', "wage"],
      "wage -draft": ["wage", "wage", "order", "find"],
      "minimum year:2024": ["minimum", "wage"],
      'minimum document:"old rules"': ["minimum", "order"],
      "pattern tags:unix": ["pattern", "find"],
      '"wage minimum"': undefined, // no passage has it
      "find -name": undefined, // a text writes it so
      "wage -bonus": undefined, // no passage has the word
      "minimum colour:red": undefined, // no such field
      "minimum year:1999": undefined, // no such value
      '"the"': undefined, // no term
      "year:2024": undefined, // nothing is asked for
    };
    for (const [question, wanted] of Object.entries(expected))
      assert.equal(await chosen(question, inMemory), wanted, question);
  });
}

test.run();
