/** What the embedded model quotes: expressions whole, at the place that answers. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { ReAtt } from "../../src/index.ts";

const model = await ReAtt.load("models/reatt-mini");
test.after(() => model.close());

const read = (question: string, text: string, title = "") =>
  model.read(question, [{ id: "1", title, text }], { minimumConfidence: 0 });

test("groups that repeat are quoted whole", async () => {
  for (const [question, text, answer] of [
    ["How many people live in Porto?", "Today 1,000,000 people live in Porto.", "1,000,000"],
    ["What is the address?", "The address of the name server is 8.8.8.8 here.", "8.8.8.8"],
    ["Which language is it written in?", "The engine is written in C++ for speed.", "C++"],
    ["When is it open?", "The museum is open 10:00 to 17:00.", "10:00"],
    ["Which band did she see?", "In Rome she saw Duran Duran in concert.", "Duran Duran"],
  ] as const) {
    const reply = await read(question, text);
    const { span } = reply.passages[0]!;
    // it may say more, such as "C++ for speed"
    assert.ok(reply.answer.split(" ").includes(answer) || reply.answer === answer, reply.answer);
    assert.is(text.slice(span!.start, span!.end), reply.answer);
  }
});

test("an answer that stands twice has the place that answers", async () => {
  for (const [question, text] of [
    [
      "When was the harbour built?",
      "House 1875 is a hotel. The harbour was built in 1875 by two engineers.",
    ],
    [
      "Who wrote the letter?",
      "Anna Lee lives in Rome. Her brother sings. The long letter was written by Anna Lee.",
    ],
  ] as const) {
    const { answer, passages } = await read(question, text);
    assert.is(passages[0]!.span?.start, text.lastIndexOf(answer), `${answer} of ${question}`);
  }
});

test("an answer far behind the limit of a passage is read, at its place", async () => {
  const filler = "The valley has three farms, and cows graze on its meadows in summer. ".repeat(60);
  const fact = "The bridge of Arven was built by Elin Holt in 1911. ";
  const text = `${filler}${fact}${filler}`;
  const passages = [
    { id: "long", title: "Arven", text },
    { id: "other", title: "Arven", text: filler.slice(0, 400) },
  ];
  const { answer, passages: read } = await model.read("Who built the bridge of Arven?", passages);
  assert.is(answer, "Elin Holt");
  assert.is(read[0]!.span?.start, text.indexOf("Elin Holt"));
  assert.is(read[0]!.cutTokens, undefined);
});

test("a copy of a passage does not make its answer less certain", async () => {
  const passage = { id: "1", title: "Arven", text: "The bridge was built by Elin Holt in 1911." };
  const other = { id: "2", title: "Cat", text: "Cats purr and sleep up to twenty hours a day." };
  const question = "Who built the bridge?";
  const once = await model.read(question, [passage, other]);
  const twice = await model.read(question, [passage, passage, other]);
  assert.is(twice.answer, once.answer);
  assert.is(twice.signals!.lead, once.signals!.lead);
});

test("streamed text is the answer, word by word", async () => {
  const pieces: string[] = [];
  const text = "James Watt patented a steam engine. It cost $1,299.99 in all.";
  for (const question of ["Who patented a steam engine?", "How much did it cost?"]) {
    const { answer } = await model.read(question, [{ id: "1", text }], {
      minimumConfidence: 0,
      onText: (piece) => void pieces.push(piece),
    });
    assert.is(pieces.splice(0).join(""), answer);
  }
});

test("nothing to quote, or nothing that the model can read, is an abstention", async () => {
  for (const extractive of [true, false])
    for (const text of ["", "  ", "\u200b", "\u{20000}\u{20001} \u{20002}"]) {
      const passages = [{ id: "1", title: "", text }];
      const reply = await model.read("Who came?", passages, { extractive, minimumConfidence: 0 });
      const { answer, abstained, confidence } = reply;
      assert.equal(
        { answer, abstained, confidence },
        { answer: "", abstained: true, confidence: 0 },
      );
    }
});

test.run();
