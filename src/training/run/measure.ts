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
import { saveModel } from "./save-model.ts";
import type { TrainingRun } from "./training-run.ts";

/**
 * Measures retrieval on the monitor set, unless this step is measured already. The saved model
 * stores its weights of hybrid search.
 */
export async function* monitorRetrieval(run: TrainingRun): AsyncGenerator<TrainingEvent> {
  const { options, config, monitor, step, monitorRecords } = run;
  if (!monitor || monitorRecords.at(-1)?.step === step) return;
  const parameters = await usableParameters(run);
  if (!parameters) return;
  const measured = yield* measureRetrieval(options, config, parameters, monitor);
  yield* recordMeasurement(run, monitor, parameters, measured);
}

/** Records what was measured of `parameters`, the present ones, and saves them if they are best. */
export async function* recordMeasurement(
  run: TrainingRun,
  monitor: RetrievalMonitor,
  parameters: ReadonlyMap<string, ParameterState>,
  { seconds, replies, ...measurement }: MeasuredRetrieval & Pick<MonitorRecord, "taken">,
): AsyncGenerator<TrainingEvent> {
  const { options, config, step, monitorRecords, log } = run;
  const record = { step, ...measurement };
  monitorRecords.push(record);
  const best = bestOf(monitorRecords) === record;
  const { weights } = measurement.hybrid;
  if (best) {
    await saveModel(options.out, { ...config, hybrid: weights }, parameters, options.model);
    await writeBestWeights(options.out, parameters);
  }
  await writeMonitorRecords(options.out, monitorRecords);
  const measures = measuresOf(record);
  const hybrid = { weights, measures: measuresOf(measurement.hybrid) };
  const shown = best ? sampleQuestions(monitor) : [];
  const result = { measures, hybrid, replies };
  await log.evaluation(step, result, shown, bestOf(monitorRecords).step);
  yield { type: "evaluation", step, measures, hybrid, best };
  run.durations = seconds;
}

/**
 * Measures the model on dev before and after each iteration, unless this step is measured already.
 */
export async function* evaluate(run: TrainingRun): AsyncGenerator<TrainingEvent> {
  const { options, config, dev, log, step } = run;
  const { unsupervisedSteps: start, steps } = options;
  const isBetweenIterations = step >= start && (step - start) % steps === 0;
  const isMeasured = log.evaluations().some((evaluation) => evaluation.step === step);
  if (!dev || !isBetweenIterations || isMeasured) return;
  const parameters = await usableParameters(run);
  if (!parameters) return;
  const result = yield* answerDev(run, dev, parameters);
  const previous = bestEvaluation(log.evaluations(), start);
  const best = step > start && (!previous || atLeastAsGood(result.measures, previous.measures));
  const { measures, hybrid } = result;
  const saved = { ...config, hybrid: hybrid.weights };
  if (best) await saveModel(options.out, saved, parameters, options.model);
  await log.evaluation(step, result, dev.questions, best ? step : previous?.step);
  yield { type: "evaluation", step, measures, hybrid, best };
}

function answerDev(
  { options, config, corpus }: TrainingRun,
  { questions, lexical }: DevSet,
  parameters: ReadonlyMap<string, ParameterState>,
): AsyncGenerator<TrainingEvent, DevResult> {
  return withCurrentModel<TrainingEvent, DevResult>(
    options,
    config,
    parameters,
    corpus,
    async function* (model, index) {
      yield { type: "stage", name: "answering dev questions", total: questions.length };
      return yield* reporting((report) =>
        evaluateOnDev(model, index, questions, {
          lexical,
          signal: options.signal,
          onProgress: (done) => report({ type: "progress", done }),
        }),
      );
    },
  );
}

/** The parameters, or undefined if one is too large to compute with, which ends the run. */
async function usableParameters(
  run: TrainingRun,
): Promise<ReadonlyMap<string, ParameterState> | undefined> {
  const parameters = await run.engine.parameters();
  run.diverged = divergedParameter(parameters, run.step);
  return run.diverged === undefined ? parameters : undefined;
}
