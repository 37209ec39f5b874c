/** Measures the current model during a run, and saves it if it is the best. */

import { TOKEN_WEIGHTS } from "../../model/parameter-names.ts";
import type { ParameterState } from "../engine/optimizer.ts";
import { chosenOf, takesTokenWeights } from "../verdict/decision.ts";
import { type Measured, measureModel } from "../verdict/measure-model.ts";
import type { MeasuredSet } from "../verdict/measured-set.ts";
import {
  type MeasuredModel,
  type ModelKind,
  measuresOf,
  writeMeasured,
} from "../verdict/measurements.ts";
import { withCurrentModel } from "./current-model.ts";
import type { RunEvent } from "./events.ts";
import { keptParameters, saveModel } from "./parameters.ts";
import { changesReading } from "./run.ts";
import { divergedParameter, type RunState } from "./run-state.ts";
import type { MeasurementSeconds } from "./time-budget.ts";

type Parameters = ReadonlyMap<string, ParameterState>;

/**
 * Measures what the run would keep of the current model, unless this step is measured already. The
 * best model is saved with its weights of hybrid search.
 */
export async function* measure(state: RunState): AsyncGenerator<RunEvent> {
  const { run, set, step, models } = state;
  if (!set || models.at(-1)?.step === step) return;
  const parameters = await state.engine.parameters();
  state.diverged = divergedParameter(parameters, step);
  if (state.diverged !== undefined) return;
  const kept = keptParameters(parameters, state.given);
  const measured = yield* measureParameters(state, set, kept);
  state.durations = measured.seconds;
  const kind = step === 0 ? "start" : run.average ? "mean" : "trained";
  yield* addModel(state, kind, kept, measured);
}

/**
 * Takes the token weights that come with the data if the examples allow it (`takesTokenWeights`).
 * This is then the first step of the run: it takes the place of an update by gradients.
 *
 * Real questions gain from them on most collections (docs/experiments/adaptation.md). Examples made
 * from documents, which most held-out ones are, gain less: all their words stand in a passage.
 *
 * The keys stay the same, so the index is that of the measurement before. What an index takes is
 * known from that one.
 */
export async function* tryTokenWeights(state: RunState): AsyncGenerator<RunEvent> {
  const { engine, data, set, models } = state;
  const before = models.at(-1); // none if a parameter is too large to compute with
  if (!data.tokenWeights || !set || !before) return;
  yield { type: "stage", name: "counting tokens" };
  const parameters = await engine.parameters();
  const weights = { ...parameters.get(TOKEN_WEIGHTS)!, value: await data.tokenWeights() };
  const weighed = new Map(parameters).set(TOKEN_WEIGHTS, weights);
  const measured = yield* measureParameters(state, set, weighed);
  if (!takesTokenWeights(before, measured.measurement)) return;
  await engine.restart(new Map([...weighed].map(([name, { value }]) => [name, value])));
  state.step++;
  yield* addModel(state, "token weights", weighed, measured);
}

/** Records what was measured of the present model, and saves it if it is best. */
async function* addModel(
  { run, step, models, log }: RunState,
  kind: ModelKind,
  parameters: Parameters,
  { measurement, answered, replies }: Measured,
): AsyncGenerator<RunEvent> {
  const model: MeasuredModel = { step, kind, ...measurement };
  models.push(model);
  const chosen = chosenOf(models);
  const best = chosen === model;
  const { weights } = measurement.hybrid;
  if (best) await saveModel(run.out, { ...run.config, hybrid: weights }, parameters, run);
  await writeMeasured(run.folder, models);
  const measures = measuresOf(model);
  const hybrid = { weights, measures: measuresOf(measurement.hybrid) };
  await log.evaluation(step, { measures, hybrid, replies }, best ? answered : [], chosen.step);
  yield { type: "evaluation", step, measures, hybrid, best };
}

/** Measures `parameters` as a model, with an index of the passages. */
async function* measureParameters(
  { run, corpus, models }: RunState,
  set: MeasuredSet,
  parameters: Parameters,
): AsyncGenerator<RunEvent, Measured & { readonly seconds: MeasurementSeconds }> {
  yield { type: "stage", name: "measuring retrieval" };
  const start = performance.now();
  const options = {
    tunes: models.length > 0,
    reads: changesReading(run),
    own: run.measurements.own,
    // An interrupted run completes a measurement of held-out examples, and then saves a checkpoint.
    signal: set.passages ? undefined : run.signal,
  };
  return yield* withCurrentModel(
    run,
    parameters,
    set.passages ?? corpus,
    async function* (model, index, indexSeconds) {
      const measured = yield* measureModel(model, index, set, options);
      const measurement = (performance.now() - start) / 1000;
      return { ...measured, seconds: { measurement, index: indexSeconds } };
    },
  );
}
