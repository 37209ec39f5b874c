/**
 * Asks 40 questions as people type them, about the paragraphs of data/squad, with the defaults of
 * `answer`. They are not SQuAD's, and no choice rests on them. Prints each question with what is
 * answered, and how many are right: the answer matches exactly, but for case and articles.
 *
 *     npx tsx benchmarks/everyday-questions.ts [--model DIR] [--read-top-k N]
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { exactMatch } from "../src/evaluation/answers.ts";
import { ReAtt } from "../src/reatt.ts";

const QUESTIONS: readonly (readonly [question: string, ...answers: string[]])[] = [
  ["Which team won Super Bowl 50?", "Denver Broncos", "Broncos"],
  ["who was the mvp of super bowl 50", "Von Miller"],
  ["where was Super Bowl 50 played?", "Levi's Stadium", "Santa Clara, California"],
  ["who sang at the super bowl 50 halftime show", "Coldplay", "Beyoncé and Bruno Mars"],
  ["When was Martin Luther born?", "10 November 1483"],
  ["Who did Martin Luther marry?", "Katharina von Bora"],
  [
    "Which church did Martin Luther nail his theses to?",
    "All Saints' Church in Wittenberg",
    "All Saints' Church",
  ],
  ["When did Nikola Tesla die?", "7 January 1943"],
  ["Where was Tesla born?", "Smiljan", "Smiljan, Austrian Empire"],
  ["What killed so many people in the Black Death?", "Yersinia pestis", "bubonic plague"],
  ["when did the black death reach england", "1348", "June 1348"],
  ["Who was the first man on the moon?", "Neil Armstrong"],
  ["when was the first moon landing", "July 20, 1969", "1969"],
  ["Who ordered the moon landing?", "John F. Kennedy", "President John F. Kennedy", "Kennedy"],
  ["How long is the Rhine?", "1,230 km", "about 1,230 km", "1,230 km (760 mi)"],
  ["Where does the Rhine end?", "North Sea", "North Sea in the Netherlands", "Netherlands"],
  ["Who improved the steam engine?", "James Watt", "Watt"],
  ["what is the capital of kenya", "Nairobi"],
  ["When did Kenya become independent?", "12 December 1963", "December 1963"],
  ["Who was Genghis Khan's grandson?", "Kublai Khan", "Kublai", "Batu Khan", "Möngke Khan"],
  ["Which dynasty did Kublai Khan start?", "Yuan dynasty", "Yuan"],
  ["What is the population of Jacksonville?", "853,382"],
  ["what's the largest city in Florida by area", "Jacksonville"],
  ["How old is Harvard?", "1636"],
  ["Who plays Doctor Who now?", "Peter Capaldi"],
  ["When did Doctor Who start?", "23 November 1963", "1963"],
  ["What does TARDIS stand for?", "Time and Relative Dimension in Space"],
  ["Who discovered oxygen?", "Carl Wilhelm Scheele", "Joseph Priestley", "Priestley", "Scheele"],
  ["symbol of oxygen", "O"],
  ["Who proved that there are infinitely many primes?", "Euclid"],
  ["is there a largest prime number", "infinitely many primes", "infinitely many"],
  ["What do chloroplasts do?", "photosynthesis", "conduct photosynthesis"],
  ["how big is the amazon rainforest", "5,500,000 square kilometres", "5,500,000"],
  ["What country has most of the Amazon?", "Brazil"],
  ["What caused the oil crisis of 1973?", "oil embargo", "an oil embargo"],
  ["Who was the first director of the Victoria and Albert Museum?", "Henry Cole"],
  ["Where is the V&A?", "London", "Brompton district"],
  ["Where does the Scottish Parliament meet?", "Edinburgh", "Holyrood", "Holyrood, Edinburgh"],
  ["Who invented packet switching?", "Paul Baran", "Donald Davies", "Baran"],
  ["what river flows through Warsaw", "Vistula", "Vistula River"],
];

const { values } = parseArgs({
  options: {
    model: { type: "string", default: "models/reatt-mini" },
    "read-top-k": { type: "string" },
  },
});
const readTopK = values["read-top-k"] === undefined ? {} : { readTopK: +values["read-top-k"] };
const directory = await mkdtemp(join(tmpdir(), "everyday-"));
try {
  await using model = await ReAtt.load(values.model);
  await using index = await model.openOrIndex("data/squad/corpus.jsonl", {
    directory: join(directory, "index"),
  });
  let right = 0;
  for (const [question, ...answers] of QUESTIONS) {
    const { answer, confidence } = await model.answer(question, index, readTopK);
    const isRight = exactMatch(answer, answers);
    right += Number(isRight);
    console.log(`${isRight ? "right" : "     "} ${confidence.toFixed(2)} ${question} -> ${answer}`);
  }
  console.log(`${right} of ${QUESTIONS.length} right`);
} finally {
  await rm(directory, { recursive: true });
}
