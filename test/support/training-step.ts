/** The loss and the gradients of one batch, on each training engine. */

import type { ModelConfig } from "../../src/model/config.ts";
import { openHeldStates } from "../../src/training/engine/held-states.ts";
import { openHeldTeacher } from "../../src/training/engine/held-teacher.ts";
import type { ParameterState } from "../../src/training/engine/optimizer.ts";
import {
  type Batch,
  type BatchLoss,
  gradientAccumulator,
} from "../../src/training/gradient-cache/gradient-cache.ts";
import type { StepSettings } from "../../src/training/objectives/passes.ts";
import type { Trained } from "../../src/training/objectives/trained-parameters.ts";
import {
  defaultPart,
  type TrainedChoice,
  trainedParameters,
} from "../../src/training/options/trained.ts";
import { BACKENDS } from "./backends.ts";

export type EngineName = keyof typeof BACKENDS;

export const ENGINES = Object.keys(BACKENDS) as EngineName[];

/** A run that trains all parameters. */
export const trainsAll = (states: ReadonlyMap<string, unknown>): Trained => ({
  names: new Set(states.keys()),
  rows: new Map(),
});

/** What a run trains. Default: the part that the objective trains. */
export const trainedBy = (
  config: ModelConfig,
  { objective = "distillation", part = defaultPart(objective), ...rest }: Partial<TrainedChoice>,
): Trained => trainedParameters(config, { objective, part, ...rest });

export interface ComputedStep extends BatchLoss {
  /** Those of all parameters. */
  readonly gradients: ReadonlyMap<string, Float32Array>;
}

export interface StepSetting extends Partial<StepSettings> {
  /** Whether states of layers and a teacher that are not trained are held. Default false. */
  readonly holds?: boolean;
  /** Whether gradients add to those of the batch before. Default false. */
  readonly adds?: boolean;
}

/** Computes batches one after the other, on the parameters `states`. */
export async function computeSteps(
  engine: EngineName,
  config: ModelConfig,
  states: ReadonlyMap<string, ParameterState>,
  { holds = false, adds = false, ...setting }: StepSetting,
  batches: readonly (Omit<Batch, "key"> & { readonly key?: string })[],
): Promise<ComputedStep[]> {
  const settings: StepSettings = { trained: trainsAll(states), dropout: 0, ...setting };
  await using backend = await BACKENDS[engine](config, states, settings);
  await using held = openHeldStates(config, states, settings.trained);
  await using teacher = openHeldTeacher(config, states, settings, held);
  const accumulate = gradientAccumulator(
    config,
    backend.passes,
    settings,
    holds ? { states: held, teacher } : {},
  );
  const computed: ComputedStep[] = [];
  backend.clearGradients();
  for (const { key = "key", ...batch } of batches) {
    if (!adds) backend.clearGradients();
    const loss = await accumulate({ ...batch, key: [key] });
    await backend.read(states.keys());
    const gradients = new Map([...states].map(([name, { gradient }]) => [name, gradient.slice()]));
    computed.push({ ...loss, gradients });
  }
  return computed;
}

/** The same for one batch. */
export async function computeStep(
  engine: EngineName,
  config: ModelConfig,
  states: ReadonlyMap<string, ParameterState>,
  setting: StepSetting,
  batch: Omit<Batch, "key" | "chunkQuestions"> & Partial<Pick<Batch, "chunkQuestions">>,
): Promise<ComputedStep> {
  const chunkQuestions = batch.chunkQuestions ?? batch.examples.length;
  const [computed] = await computeSteps(engine, config, states, setting, [
    { ...batch, chunkQuestions },
  ]);
  return computed!;
}
