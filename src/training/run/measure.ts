/** Measures the current model during a run, and saves it if it is the best. */

import { reporting } from "../../io/progress.ts";
import type { ParameterState } from "../engine/optimizer.ts";
import { writeBestWeights } from "./best-weights.ts";
import { withCurrentModel } from "./current-model.ts";
import type { DevSet } from "./dev.ts";
import { divergedParameter } from "./divergence.ts";
import { type DevResult, evaluateOnDev } from "./evaluate.ts";
import type { TrainingEvent } from "./events.ts";
import {
  bestOf,
  type MeasuredRetrieval,
  type MonitorRecord,
  measureRetrieval,
  measuresOf,
  type RetrievalMonitor,
  sampleQuestions,
  writeMonitorRecords,
} from "./retrieval-monitor.ts";
import { atLeastAsGood, bestEvaluation } from "./run-log.ts";
import type { RunState } from "./run-state.ts";
import { saveModel } from "./save-model.ts";

/**
 * Measures retrieval on the monitor set, unless this step is measured already. The saved model
 * stores its weights of hybrid search.
 */
export async function* monitorRetrieval(state: RunState): AsyncGenerator<TrainingEvent> {
  const { run, monitor, step, monitorRecords } = state;
  if (!monitor || monitorRecords.at(-1)?.step === step) return;
  const parameters = await usableParameters(state);
  if (!parameters) return;
  const measured = yield* measureRetrieval(run, parameters, monitor);
  yield* recordMeasurement(state, monitor, parameters, measured);
}

/** Records what was measured of `parameters`, the present ones, and saves them if they are best. */
export async function* recordMeasurement(
  state: RunState,
  monitor: RetrievalMonitor,
  parameters: ReadonlyMap<string, ParameterState>,
  { seconds, replies, ...measurement }: MeasuredRetrieval & Pick<MonitorRecord, "taken">,
): AsyncGenerator<TrainingEvent> {
  const { run, step, monitorRecords, log } = state;
  const record = { step, ...measurement };
  monitorRecords.push(record);
  const best = bestOf(monitorRecords) === record;
  const { weights } = measurement.hybrid;
  if (best) {
    await saveModel(run.out, { ...run.config, hybrid: weights }, parameters, run.model);
    await writeBestWeights(run.out, parameters);
  }
  await writeMonitorRecords(run.out, monitorRecords);
  const measures = measuresOf(record);
  const hybrid = { weights, measures: measuresOf(measurement.hybrid) };
  const shown = best ? sampleQuestions(monitor) : [];
  const result = { measures, hybrid, replies };
  await log.evaluation(step, result, shown, bestOf(monitorRecords).step);
  yield { type: "evaluation", step, measures, hybrid, best };
  state.durations = seconds;
}

/**
 * Measures the model on dev before and after each iteration, unless this step is measured already.
 */
export async function* evaluate(state: RunState): AsyncGenerator<TrainingEvent> {
  const { run, dev, log, step } = state;
  const isBetweenIterations = step % run.schedule.steps === 0;
  const isMeasured = log.evaluations().some((evaluation) => evaluation.step === step);
  if (!dev || !isBetweenIterations || isMeasured) return;
  const parameters = await usableParameters(state);
  if (!parameters) return;
  const result = yield* answerDev(state, dev, parameters);
  const previous = bestEvaluation(log.evaluations());
  const best = step > 0 && (!previous || atLeastAsGood(result.measures, previous.measures));
  const { measures, hybrid } = result;
  const saved = { ...run.config, hybrid: hybrid.weights };
  if (best) await saveModel(run.out, saved, parameters, run.model);
  await log.evaluation(step, result, dev.questions, best ? step : previous?.step);
  yield { type: "evaluation", step, measures, hybrid, best };
}

function answerDev(
  { run, corpus }: RunState,
  { questions, lexical }: DevSet,
  parameters: ReadonlyMap<string, ParameterState>,
): AsyncGenerator<TrainingEvent, DevResult> {
  return withCurrentModel<TrainingEvent, DevResult>(
    run,
    parameters,
    corpus,
    async function* (model, index) {
      yield { type: "stage", name: "answering dev questions", total: questions.length };
      return yield* reporting((report) =>
        evaluateOnDev(model, index, questions, {
          lexical,
          signal: run.signal,
          onProgress: (done) => report({ type: "progress", done }),
        }),
      );
    },
  );
}

/** The parameters, or undefined if one is too large to compute with, which ends the run. */
async function usableParameters(
  state: RunState,
): Promise<ReadonlyMap<string, ParameterState> | undefined> {
  const parameters = await state.engine.parameters();
  state.diverged = divergedParameter(parameters, state.step);
  return state.diverged === undefined ? parameters : undefined;
}
