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
import {
  campaignFolder,
  campaignOptions,
  collectFailures,
  finish,
  startProgress,
} from "./campaign.ts";

const SAMPLES = 100;
/** Caches and compiled graphs fill in the first part of a run. It does not count. */
const WARM_UP = 0.3;
const MAX_GROWTH = 0.1; // of the resident memory, from the end of the warm-up to the end
/** Bytes by which a run of less than 1,000 operations may grow in addition: caches still fill. */
const SHORT_RUN_BYTES = 100e6;
const MODEL = "models/reatt-mini";

const { count, seed, kind } = campaignOptions(200, { kind: "searches" });
const folder = campaignFolder("memory");
const directory = join(folder, "index");
const progress = startProgress(kind, count);
const every = Math.max(1, Math.floor(count / SAMPLES));
const samples: { readonly done: number; readonly bytes: number }[] = [];

const kinds: Readonly<Record<string, () => Promise<void>>> = { searches, answers, steps, loads };
const run = kinds[kind];
if (!run || count < 10) throw new Error(`--kind ${kind} --count ${count}`);
await run();
report();

/** Counts an operation. */
function done(number: number): void {
  progress(number);
  if (number % every === 0) samples.push({ done: number, bytes: process.memoryUsage.rss() });
}

/** One to twenty words of the passages. */
function question(number: number): string {
  const random = createRandom(seed, "memory", number);
  const words = Array.from({ length: 1 + random.integer(20) }, () => `w${random.integer(50)}`);
  return `${words.join(" ")}?`;
}

async function searches(): Promise<void> {
  await using model = await ReAtt.load(MODEL, { threads: 1 });
  await using index = await model.index(makePassages(200), { directory, bits: 2 });
  for (let i = 1; i <= count; i++) {
    await model.retrieve(question(i), index, { topK: 5, hybrid: i % 2 === 0 });
    done(i);
  }
}

async function answers(): Promise<void> {
  await using model = await ReAtt.load(MODEL, { threads: 1 });
  await using index = await model.index(makePassages(50), { directory });
  for (let i = 1; i <= count; i++) {
    await model.answer(question(i), index, { topK: 2, maxAnswerTokens: 8 });
    done(i);
  }
}

async function steps(): Promise<void> {
  const options = await writeSmallRun(folder);
  for await (const event of train({ ...options, seed, iterations: 1, steps: count }))
    if (event.type === "step") done(event.step);
}

async function loads(): Promise<void> {
  const first = await ReAtt.load(MODEL, { threads: 1 });
  await (await first.index(makePassages(50), { directory, bits: 2 })).close();
  await first.close();
  for (let i = 1; i <= count; i++) {
    await using model = await ReAtt.load(MODEL, { threads: 1 });
    await using index = await model.openIndex(directory);
    await model.retrieve(question(i), index, { topK: 1 });
    done(i);
  }
}

/** The slope of the least squares line through the samples after the warm-up. */
function report(): void {
  const later = samples.filter((sample) => sample.done > WARM_UP * count);
  const [x, y] = [mean(later.map((sample) => sample.done)), mean(later.map(({ bytes }) => bytes))];
  const products = later.map((sample) => (sample.done - x) * (sample.bytes - y));
  const slope = mean(products) / mean(later.map((sample) => (sample.done - x) ** 2));
  const growth = slope * (1 - WARM_UP) * count;
  const failures = collectFailures();
  const allowed = MAX_GROWTH * y + (count < 1_000 ? SHORT_RUN_BYTES : 0);
  if (growth > allowed) failures.add(kind, `memory grows by ${growth} bytes`);
  console.log(
    `${kind}: first ${megabytes(samples[0]!.bytes)} MB, ` +
      `mean after the warm-up ${megabytes(y)} MB, last ${megabytes(samples.at(-1)!.bytes)} MB, ` +
      `slope ${Math.round(slope)} bytes for each`,
  );
  finish({ [kind]: count }, failures);
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(0);
}
