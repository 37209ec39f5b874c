/**
 * Memory over many operations. It prints the resident memory and its slope, and fails if memory
 * grows.
 *
 *     npx tsx test/campaigns/memory.ts --kind searches --count 100000 --seed 1
 *     npx tsx test/campaigns/memory.ts --kind answers --count 10000
 *     npx tsx test/campaigns/memory.ts --kind steps --count 1000
 *     npx tsx test/campaigns/memory.ts --kind loads --count 500
 */

import { join } from "node:path";
import { mean } from "../../src/math/mean.ts";
import { createRandom } from "../../src/math/random.ts";
import { ReAtt } from "../../src/reatt.ts";
import { train } from "../../src/training/train.ts";
import { makePassages } from "../retrieval/support.ts";
import { writeSmallRun } from "../support/training.ts";
import { campaignFolder, Failed, type Given, runCampaign, type Tries } from "./campaign.ts";

const SAMPLES = 100;
/** Caches and compiled graphs fill in the first part of a run. It does not count. */
const WARM_UP = 0.3;
const MAX_GROWTH = 0.1; // of the resident memory, from the end of the warm-up to the end
/** Bytes by which a run of less than 1,000 operations may grow in addition: caches still fill. */
const SHORT_RUN_BYTES = 100e6;
const MODEL = "models/reatt-mini";

await runCampaign({
  script: import.meta.url,
  unit: "operations",
  standardCount: 200,
  hungAfter: 600,
  maxBytes: 1.5e9,
  options: { kind: "searches" },
  open: measured,
});

/** An operation by its number, from 1 on. */
type Operation = (number: number) => Promise<unknown>;

async function measured(given: Given & { readonly kind: string }): Promise<Tries> {
  const { count, kind } = given;
  const kinds: Readonly<Record<string, (given: Given) => Promise<Operation>>> = {
    ...{ searches, answers, steps, loads },
  };
  const open = kinds[kind];
  if (!open || count < 10) throw new Error(`--kind ${kind} --count ${count}`);
  const operation = await open(given);
  const every = Math.max(1, Math.floor(count / SAMPLES));
  const samples: Sample[] = [];
  return {
    async attempt(number) {
      await operation(number + 1);
      if ((number + 1) % every === 0)
        samples.push({ done: number + 1, bytes: process.memoryUsage.rss() });
    },
    close: async () => growthOf(samples, count),
  };
}

interface Sample {
  readonly done: number;
  readonly bytes: number;
}

/** One to twenty words of the passages. */
function question({ seed }: Given, number: number): string {
  const random = createRandom(seed, "memory", number);
  const words = Array.from({ length: 1 + random.integer(20) }, () => `w${random.integer(50)}`);
  return `${words.join(" ")}?`;
}

function directory(): string {
  return join(campaignFolder("memory"), "index");
}

async function searches(given: Given): Promise<Operation> {
  const model = await ReAtt.load(MODEL, { threads: 1 });
  const index = await model.index(makePassages(200), { directory: directory(), bits: 2 });
  return (i) => model.retrieve(question(given, i), index, { topK: 5, hybrid: i % 2 === 0 });
}

async function answers(given: Given): Promise<Operation> {
  const model = await ReAtt.load(MODEL, { threads: 1 });
  const index = await model.index(makePassages(50), { directory: directory() });
  return (i) => model.answer(question(given, i), index, { topK: 2, maxAnswerTokens: 8 });
}

async function steps({ seed, count }: Given): Promise<Operation> {
  const options = await writeSmallRun(campaignFolder("memory"));
  const events = train({ ...options, seed, iterations: 1, steps: count });
  return async () => {
    for (;;) {
      const { value, done } = await events.next();
      if (done || value.type === "step") return;
    }
  };
}

async function loads(given: Given): Promise<Operation> {
  const first = await ReAtt.load(MODEL, { threads: 1 });
  const place = directory();
  await (await first.index(makePassages(50), { directory: place, bits: 2 })).close();
  await first.close();
  return async (i) => {
    await using model = await ReAtt.load(MODEL, { threads: 1 });
    await using index = await model.openIndex(place);
    await model.retrieve(question(given, i), index, { topK: 1 });
  };
}

/** The least squares line through the samples after the warm-up. */
function growthOf(samples: readonly Sample[], count: number): Record<string, number> {
  const later = samples.filter((sample) => sample.done > WARM_UP * count);
  const [x, y] = [mean(later.map((sample) => sample.done)), mean(later.map(({ bytes }) => bytes))];
  const products = later.map((sample) => (sample.done - x) * (sample.bytes - y));
  const slope = mean(products) / mean(later.map((sample) => (sample.done - x) ** 2));
  const growth = slope * (1 - WARM_UP) * count;
  const allowed = MAX_GROWTH * y + (count < 1_000 ? SHORT_RUN_BYTES : 0);
  if (growth > allowed) throw new Failed("over memory", `memory grows by ${growth} bytes`);
  return {
    "first MB": megabytes(samples[0]!.bytes),
    "mean MB": megabytes(y),
    "last MB": megabytes(samples.at(-1)!.bytes),
    "bytes an operation": Math.round(slope),
  };
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 1e6);
}
