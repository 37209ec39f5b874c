/**
 * Measures what a model needs on an ordinary machine: memory and time to load, to search, to index
 * and to answer, with random weights of the size of a T5 v1.1, or with those of MODEL.
 *
 *     npm run bench:memory -- [--shape small|base|large] [--precision fp32|fp16|int8]
 *         [--model MODEL] [--passages N] [--top-k K] [--directory DIR] [--keep-states N]
 *
 * With `--keep-states`, it measures instead what kept states of passages save: N answers from an
 * index with them, and N from one without, in turn.
 *
 * Each figure comes from its own process, and memory is the maximum of that process. The model is
 * made in `--directory` at the first run; read it once before, so that the file cache is warm.
 */

import { mkdtemp, rm } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Precision } from "../src/model/convert.ts";
import { runApart } from "./bench-index/subprocess.ts";
import {
  RANDOM_MODELS,
  randomModel,
  SHAPE_NAMES,
  type ShapeName,
} from "./bench-memory/random-model.ts";
import { taskReports } from "./bench-memory/reports.ts";
import type { StatesReport, StatesTask } from "./bench-memory/states.ts";

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      shape: { type: "string", default: "large" },
      precision: { type: "string", default: "fp32" },
      model: { type: "string" },
      passages: { type: "string", default: "64" },
      "keep-states": { type: "string" },
      "top-k": { type: "string", default: "10" },
      directory: { type: "string", default: RANDOM_MODELS },
    },
  });
  if (!SHAPE_NAMES.includes(values.shape as ShapeName))
    throw new Error(`--shape: expected ${SHAPE_NAMES.join(", ")}, got ${values.shape}`);
  const { directory, shape, precision } = values;
  const model =
    values.model ?? (await randomModel(directory, shape as ShapeName, precision as Precision));
  const topK = Number(values["top-k"]);
  if (values["keep-states"] === undefined) {
    for await (const report of taskReports(model, { passages: Number(values.passages), topK }))
      console.log(JSON.stringify({ ...report, load: Number(loadavg()[0]!.toFixed(1)) }));
    return;
  }
  const folder = await mkdtemp(join(tmpdir(), "reatt-states-"));
  try {
    const task: StatesTask = { model, folder, topK, answers: Number(values["keep-states"]) };
    const module = import.meta.resolve("./bench-memory/states.ts");
    console.log(JSON.stringify(await runApart<StatesReport>(module, task)));
  } finally {
    await rm(folder, { recursive: true });
  }
}

await main();
