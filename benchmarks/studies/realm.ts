/**
 * REALM's choices (Guu et al. 2020) in a small world: the null passage, the age of the index that
 * candidates come from, and the number of steps. A model with random weights learns by the marginal
 * likelihood alone, so a row takes minutes.
 *
 * A passage says one of 24 words of a person, who has one of 24 first names and one of 24 last
 * names, and of one of four topics. A question is a name with a topic; its first candidates are the
 * right passage and another. A quarter of the questions is not trained on, and measured.
 */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { createRandom } from "../../src/math/random.ts";
import type { Passage } from "../../src/text/passage.ts";
import { drawWords } from "../../test/support/small-world.ts";
import { writeSet } from "./data.ts";
import { measureSmallWorld } from "./measure-small-world.ts";
import { writeRandomModel } from "./reatt.ts";
import type { Row, Study } from "./study.ts";

const COUNT = 24;
const TOPICS = 4;
const CANDIDATES = 2;

export function realmStudy(_data: string, folder: string): Study {
  const start = join(folder, "start");
  const corpus = join(folder, "corpus.jsonl");
  const data = join(folder, "train.jsonl");
  const learned: Row = { name: "200 steps, the first candidates stay, null passage", options: {} };
  const further = { iterations: "4", steps: "25", "learning-rate": "1e-3" };
  return {
    options: {
      ...{ model: start, corpus, data, objective: "marginal", refresh: "none" },
      ...{ "candidates-per-question": `${CANDIDATES + 1}`, questions: "64" },
      ...{ iterations: "4", steps: "50", "learning-rate": "3e-3" },
    },
    rows: [
      {
        name: "random weights",
        options: { iterations: "1", steps: "1", "learning-rate": "1e-12" },
      },
      ...[1, 2].map((count) => ({
        name: `${50 * count} steps`,
        options: { iterations: `${count}` },
      })),
      learned,
      {
        name: "200 steps, no null passage",
        options: { "no-null-passage": "", "candidates-per-question": `${CANDIDATES}` },
      },
      {
        name: "200 steps, candidates of the model from step 50 on",
        options: { refresh: "iterations" },
      },
      { name: "100 steps more, the first candidates stay", options: further, after: learned },
      {
        name: "100 steps more, a new index every 25",
        options: { ...further, refresh: "iterations" },
        after: learned,
      },
    ],
    async prepare() {
      if (existsSync(data)) return; // written last
      await writeRandomModel(start, 2);
      await writeWorld(folder);
    },
    measure: (model) =>
      measureSmallWorld({ model, corpus, questions: join(folder, "test.jsonl"), searched: true }),
  };
}

async function writeWorld(folder: string): Promise<void> {
  const drawn = await drawWords(3 * COUNT + TOPICS);
  const part = (place: number): string[] => drawn.slice(place * COUNT, (place + 1) * COUNT);
  const [firsts, lasts, words, topics] = [part(0), part(1), part(2), drawn.slice(3 * COUNT)];
  const random = createRandom("persons");
  const passages = firsts.flatMap((first) =>
    lasts.flatMap((last) =>
      topics.map((topic): Passage => {
        const title = `${first} ${last} ${topic}`;
        return { id: title, title, text: words[random.integer(COUNT)]! };
      }),
    ),
  );
  const questions = passages.map(({ id, title, text }) => {
    const read = Array.from({ length: CANDIDATES - 1 }, () => random.integer(passages.length));
    const contexts = [...new Set([id, ...read.map((place) => passages[place]!.id)])];
    return { id, question: title, answers: [text], contexts };
  });
  const asked = random.shuffle(questions);
  const tested = asked.slice(0, asked.length / 4);
  await writeSet(folder, "test", { passages, questions: tested });
  await writeSet(folder, "train", { passages, questions: asked.slice(tested.length) });
}
