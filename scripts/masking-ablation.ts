/**
 * REALM's ablation of what is masked (Guu et al. 2020, table 2): adapts a model to documents with names and dates masked, or as many words
 * at a random place of the same sentences, or a single word of them, all else being equal. Prints events as JSON, as `reatt adapt --json` does.
 *
 *     npx tsx scripts/masking-ablation.ts --masking salient|spans|tokens --corpus FILE --out DIR [--model DIR] [--steps N]
 */

import { parseArgs } from "node:util";
import { printEvents } from "../src/cli/training-events.ts";
import { adapt } from "../src/training/index.ts";
import { loadTagger, randomSpans, uniformTokens } from "../src/training/salient-spans.ts";

const { values } = parseArgs({
  options: {
    masking: { type: "string", default: "salient" },
    model: { type: "string", default: "models/reatt-mini" },
    corpus: { type: "string", default: "corpus.jsonl" },
    out: { type: "string", default: "runs/masking" },
    steps: { type: "string", default: "100" },
  },
});
const { model, corpus, out, masking } = values;
const SEED = 1;

const salient = await loadTagger();
const taggers = { salient, spans: randomSpans(salient, SEED), tokens: uniformTokens(salient) };
if (!(masking in taggers)) throw new Error(`--masking is one of ${Object.keys(taggers)}`);

await printEvents(
  adapt({
    ...{ model, corpus, out },
    tagger: taggers[masking as keyof typeof taggers],
    steps: Number(values.steps),
    questions: 16,
    closePassages: 4,
    maxPassageTokens: 256,
    learningRate: 2e-4,
    probeSteps: 20,
    seed: SEED,
  }),
);
