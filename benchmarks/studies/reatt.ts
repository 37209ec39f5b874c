/**
 * ReAtt's ablations (Jiang et al. 2022, section 5) in a small world: the target of retrieval, the
 * layer B, questions of a step, alpha, candidates, in-batch negatives. A model with random weights
 * learns to retrieve from answers alone, so a row takes a minute.
 *
 * The world is that of test/support/small-world.ts. A question is a name, its answer the word of
 * one of its passages, which is read with passages of other names and words.
 */

import { existsSync } from "node:fs";
import { copyFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { createRandom } from "../../src/math/random.ts";
import { writeConfig } from "../../src/model/config-file.ts";
import { fromT5File, T5File } from "../../src/model/t5-form.ts";
import { smallWorld, VOCABULARY } from "../../test/support/small-world.ts";
import { TOKENIZER } from "../../test/support/training.ts";
import { writeSet } from "./data.ts";
import { measureSmallWorld } from "./measure-small-world.ts";
import type { Row, Study } from "./study.ts";

const MOST_CANDIDATES = 8;
const LAYERS = 4;
const B = 2;

export function reattStudy(_data: string, folder: string): Study {
  const start = (layer: number): string => join(folder, `start-${layer}`);
  const otherLayers = [1, 3];
  const rows: Row[] = [
    { name: "random weights", options: { steps: "1", "learning-rate": "1e-12" } },
    { name: "distillation (B 2, 64 questions, 2 candidates, alpha 1)", options: {} },
    { name: "gold passage as the target", options: goldOptions(folder) },
    { name: "no target (answers alone)", options: { objective: "qa", alpha: undefined } },
    { name: "no in-batch negatives", options: { "no-in-batch-negatives": "" } },
    { name: "learned head weights, tau 0.001", options: { tau: "0.001" } },
    ...otherLayers.map((layer) => ({ name: `B ${layer}`, start: start(layer), options: {} })),
    ...["16", "32"].map((questions) => ({
      name: `${questions} questions`,
      options: { questions },
    })),
    ...["0.25", "4", "16"].map((alpha) => ({ name: `alpha ${alpha}`, options: { alpha } })),
    ...["4", "8"].map((count) => ({
      name: `${count} candidates`,
      options: { "candidates-per-question": count },
    })),
  ];
  const corpus = join(folder, "corpus.jsonl");
  const data = join(folder, "train.jsonl");
  return {
    options: {
      ...{ model: start(B), corpus, data },
      ...{ objective: "distillation", alpha: "1", "candidates-per-question": "2" },
      ...{ questions: "64", steps: "100", "learning-rate": "3e-3" },
    },
    rows,
    async prepare() {
      if (existsSync(data)) return; // written last
      for (const layer of [B, ...otherLayers]) await writeRandomModel(start(layer), layer);
      await writeWorld(folder);
    },
    measure: (model) => measureSmallWorld({ model, corpus, questions: data }),
  };
}

const goldOptions = (folder: string) => ({
  ...{ objective: "supervised", data: join(folder, "labelled.jsonl") },
});

/** A model without weights: training draws them. */
export async function writeRandomModel(folder: string, retrievalLayer: number): Promise<void> {
  const file = T5File.parse({
    ...{ vocab_size: VOCABULARY, d_model: 32, d_kv: 32, num_heads: 2, d_ff: 64 },
    ...{ num_layers: LAYERS, num_decoder_layers: 2, feed_forward_proj: "gated-gelu" },
    ...{ dropout_rate: 0, retrieval_layer: retrievalLayer, retrieval_scale: 4 },
  });
  await mkdir(folder, { recursive: true });
  await writeConfig(folder, fromT5File(file));
  await copyFile(TOKENIZER, join(folder, "spiece.model"));
}

async function writeWorld(folder: string): Promise<void> {
  const { passages } = await smallWorld();
  const random = createRandom("contexts");
  const questions = passages.map(({ id, title, text }) => {
    const others = passages.filter((other) => other.title !== title && other.text !== text);
    const read = random.shuffle(others).slice(0, MOST_CANDIDATES - 1);
    const contexts = [id, ...read.map((other) => other.id)];
    return { id, question: title, answers: [text], contexts };
  });
  const labelled = questions.map((question) => ({ ...question, passageId: question.id }));
  await writeSet(folder, "labelled", { passages, questions: labelled });
  await writeSet(folder, "train", { passages, questions });
}
