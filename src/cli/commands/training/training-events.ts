/** Events of a run: progress bars and lines on stderr, or JSON objects on stdout, one a line. */

import { formatBytes } from "../../../io/format-bytes.ts";
import type { AdaptationEvent } from "../../../training/adapt.ts";
import { PART_TEXTS } from "../../../training/options/trained.ts";
import type { TrainingPlan } from "../../../training/plan/plan.ts";
import type { RunEvent } from "../../../training/run/events.ts";
import { duration, type Progress, startProgress } from "../../output/progress.ts";
import { describeSkipped } from "../../shared/corpus.ts";

/** Shows a run, or prints it as JSON, and then its result. */
export async function printRun<Event, Result extends object>(
  run: AsyncGenerator<Event, Result>,
  json: boolean | undefined,
  show: (run: AsyncGenerator<Event, Result>) => Promise<Result>,
  summaryOf: (result: Result) => string,
): Promise<void> {
  const result = await (json ? printEvents(run) : show(run));
  const shown = json ? JSON.stringify({ type: "result", ...result }) : summaryOf(result);
  process.stdout.write(`${shown}\n`);
}

/** Prints every event of a run and returns its result. */
async function printEvents<Result>(run: AsyncGenerator<unknown, Result>): Promise<Result> {
  for (;;) {
    const { done, value } = await run.next();
    if (done) return value;
    process.stdout.write(`${JSON.stringify(value, messageOfError)}\n`);
  }
}

/** JSON leaves out the message of an error. */
const messageOfError = (_: string, value: unknown): unknown =>
  value instanceof Error ? value.message : value;

/**
 * Shows a progress bar for each stage and one for all steps, and a line for each evaluation.
 *
 * @returns the result of the run
 */
export async function showEvents<Result>(
  run: AsyncGenerator<AdaptationEvent, Result>,
): Promise<Result> {
  const display = createDisplay();
  try {
    for (;;) {
      const { done, value } = await run.next();
      if (done) return value;
      display.show(value);
    }
  } finally {
    display.stop();
  }
}

/** The same; when the signal aborts, it says at once what is finished first. */
export const showEventsUntil =
  (signal: AbortSignal) =>
  async <Result>(run: AsyncGenerator<AdaptationEvent, Result>): Promise<Result> => {
    const done = new AbortController();
    const options = { once: true, signal: done.signal };
    signal.addEventListener("abort", () => process.stderr.write(STOPPING), options);
    try {
      return await showEvents(run);
    } finally {
      done.abort();
    }
  };

const STOPPING =
  "\nstopping: finishing this step or measurement, then saving a checkpoint; Ctrl-C again ends " +
  "at once, and loses at most five minutes\n";

interface Display {
  show(event: AdaptationEvent): void;
  stop(): void;
}

/**
 * One bar at a time. A line ends the bar. The time left is that of the steps since the first one of
 * this process, with the measurements between them.
 */
function createDisplay(): Display {
  let stage: Progress | undefined;
  let steps: Progress | undefined;
  let first: { readonly step: number; readonly at: number } | undefined;
  const stop = (): void => {
    stage?.stop();
    steps?.stop();
    stage = undefined;
    steps = undefined;
  };
  const show = (event: AdaptationEvent): void => {
    if (event.type === "progress") {
      stage?.update(event.done);
      return;
    }
    if (event.type === "step") {
      if (!steps) stop();
      const isFirst = first === undefined;
      first ??= { step: event.step, at: performance.now() };
      if (!steps) {
        steps = startProgress("steps", event.steps, first.at);
        steps.resume(first.step);
      }
      if (!isFirst) steps.update(event.step, lossLine(event));
      return;
    }
    const line = lineOf(event);
    if (line === undefined) return;
    stop();
    process.stderr.write(`${line}\n`);
    if (event.type === "stage" && event.total !== undefined)
      stage = startProgress("done", event.total);
  };
  return { show, stop };
}

type LineEvent = Exclude<AdaptationEvent, { readonly type: "progress" | "step" }>;

function lineOf(event: LineEvent): string | undefined {
  switch (event.type) {
    case "skipped":
      return describeSkipped(event.files).trimEnd();
    case "plan":
      return planLines(event.plan);
    case "engine":
      return engineLine(event);
    case "stage":
      return `${event.name} …`;
    case "refresh":
      return `step ${event.step}: the candidates are now from the model of step ${event.snapshot}`;
    case "evaluation": {
      const best = event.best ? ", kept so far" : "";
      const [first] = Object.entries(event.hybrid.measures);
      const hybrid = first ? `; hybrid ${measuresLine(Object.fromEntries([first]))}` : "";
      return `step ${event.step}: ${measuresLine(event.measures)}${hybrid}${best}`;
    }
    default:
      return undefined;
  }
}

function answeredLine({ answered }: TrainingPlan): string[] {
  if (!answered || answered.questions === 0) return [];
  const { answered: found, questions } = answered;
  return [`  answers     the corpus contains those of ${found} of ${questions} questions`];
}

function planLines(plan: TrainingPlan): string {
  const { model, parameters, passages, sources } = plan;
  const { iterations, steps, questions, candidatesPerQuestion } = plan;
  const millions = (parameters / 1e6).toFixed(1);
  const memory = formatBytes(plan.memoryBytes);
  const disk = formatBytes(plan.diskBytes);
  const unknown = Math.round(100 * plan.unknownTokens);
  const examples = sources.map((source) => `${source.name} (up to ${source.examples})`);
  return [
    `Plan: ${model} (${millions} million parameters) to a corpus of ${passages} passages`,
    `  trains on   ${examples.join(", ")}`,
    ...answeredLine(plan),
    ...(plan.reason ? [`  because of  ${plan.reason}`] : []),
    `  trains      ${trainedLine(plan)}`,
    `  objective   ${plan.objective}, learning rate ${Number(plan.learningRate.toPrecision(3))}, ` +
      `passages of up to ${plan.maxPassageTokens} tokens`,
    `  for         ${iterations} x ${steps} steps of ${questions} questions ` +
      `with ${candidatesPerQuestion} passages each` +
      (plan.minutes === undefined ? "" : ", corrected while it runs"),
    `  measures    ${measuredLine(plan)}`,
    `  takes about ${duration(plan.seconds)} (counted; the first steps correct it)` +
      `${plan.minutes === undefined ? "" : ` of ${duration(60 * plan.minutes)}`}, ` +
      `${memory} of memory, ${disk} of disk`,
    ...(plan.enough ? [`  note:       ${tooFewLine(plan.enough)}`] : []),
    ...(unknown > 0
      ? [`  warning:    the model does not know ${unknown} % of the tokens of passages`]
      : []),
  ].join("\n");
}

function measuredLine(plan: TrainingPlan): string {
  const { measured, unmeasured, monitorSteps, iterations, steps } = plan;
  if (!measured)
    return (
      `nothing${unmeasured ? `: ${unmeasured}` : ""}, and keeps the last model; ` +
      "--dev keeps the best, which can be the given one"
    );
  const { what, questions, passages } = measured;
  const count = `${what === "dev questions" ? "" : "up to "}${questions} ${what}`;
  const meanwhile = monitorSteps < iterations * steps ? `, every ${monitorSteps} steps` : "";
  return `${count} among about ${passages} passages: before${meanwhile} and after`;
}

const tooFewLine = ({ steps, minutes }: NonNullable<TrainingPlan["enough"]>): string =>
  `fewer than ${steps} steps are too few to show a gain` +
  (minutes === undefined ? "" : `: that many take about ${minutes} min`);

const trainedLine = ({ train, layers, average, keepsIndex }: TrainingPlan): string =>
  PART_TEXTS[train] +
  (layers === undefined ? "" : `, the last ${layers === 1 ? "layer" : `${layers} layers`}`) +
  (average ? "; saves the mean of the weights before and after" : "") +
  (keepsIndex ? "; an index of the base remains valid" : "");

function engineLine({ name, device, failures }: Extract<RunEvent, { type: "engine" }>): string {
  const place =
    device === "JavaScript"
      ? "in JavaScript, which is very slow (for native speed: npm install @tensorflow/tfjs-node)"
      : `on the ${device}`;
  return [
    `Training steps are computed by ${name} ${place}`,
    ...failures.map((failure) => `not by ${failure}`),
  ].join("; ");
}

function lossLine({ losses, questionsPerSecond }: Extract<RunEvent, { type: "step" }>): string {
  const parts = Object.entries(losses.terms).map(([name, value]) => `${name} ${value.toFixed(3)}`);
  return [...parts, `${questionsPerSecond.toFixed(1)} questions/s`].join(", ");
}

const measuresLine = (measures: Readonly<Record<string, number>>): string =>
  Object.entries(measures)
    .map(([name, value]) => `${name} ${(100 * value).toFixed(1)}`)
    .join(", ");
