/** `reatt ask`: questions at a prompt. The model is loaded once. */

import { createInterface } from "node:readline/promises";
import { InputError } from "../../io/errors.ts";
import { valuesOf } from "../../options/option.ts";
import { ANSWER } from "../../reatt/options.ts";
import type { AnswerOptions, ReAtt } from "../../reatt.ts";
import type { TokenIndex } from "../../retrieval/search/token-index.ts";
import { defineCommand } from "../line/command.ts";
import { formatReply } from "../output/human.ts";
import { hasStyles } from "../output/styles.ts";
import { ENGINE_OPTIONS, LINK_OPTION, openToSearch } from "../shared/engine.ts";
import { INDEXES, MODEL_OF_INDEX } from "../shared/file-options.ts";
import { loadModelFor } from "../shared/load-model.ts";

/** Without what is for files and programs. */
const { granularity, minScore, explain, filter, hybrid, signal, ...SHORT } = ANSWER;
const { maxInputTokens, minimumConfidence, onText, ...ASKED } = SHORT;
const PROMPT = "> ";

export const askCommand = defineCommand({
  options: {
    model: MODEL_OF_INDEX,
    index: INDEXES,
    ...ASKED,
    ...LINK_OPTION,
    ...ENGINE_OPTIONS,
  },
  example: "reatt ask --index index",
  endsBySignal: true,
  async run(values, signal) {
    await using model = await loadModelFor(values.index, values.model, signal);
    await using index = await openToSearch(model, values.index, values, signal);
    const terminal = process.stdin.isTTY === true;
    if (terminal)
      process.stderr.write(
        `${index.passageCount} passages. Ctrl+C stops an answer, Ctrl+D ends the command.\n`,
      );
    const options = valuesOf(ASKED, values);
    const ask = (question: string, signal: AbortSignal) =>
      printAnswer(model, index, question, { ...options, signal });
    await askLines(ask, terminal, signal);
  },
});

/** Answers line by line. Ctrl+C stops the answer that is written, or ends at an empty prompt. */
async function askLines(
  ask: (question: string, signal: AbortSignal) => Promise<void>,
  terminal: boolean,
  signal: AbortSignal,
): Promise<void> {
  const lines = createInterface({
    input: process.stdin,
    output: process.stderr,
    terminal,
    prompt: PROMPT,
    signal,
  });
  let running: AbortController | undefined;
  lines.on("SIGINT", () => {
    if (running) running.abort();
    else lines.close();
  });
  const prompt = (): void => {
    if (terminal) lines.prompt();
  };
  prompt();
  for await (const line of lines) {
    if (line.trim() !== "") {
      running = new AbortController();
      await ask(line, AbortSignal.any([running.signal, signal])).catch(reportProblem);
      running = undefined;
    }
    if (signal.aborted) return;
    prompt();
  }
}

async function printAnswer(
  model: ReAtt,
  index: TokenIndex,
  question: string,
  options: AnswerOptions,
): Promise<void> {
  const reply = await model.answer(question, index, options);
  process.stdout.write(
    `${formatReply(question, reply, hasStyles(process.stdout), options.reader)}\n`,
  );
}

/** A bad question does not end the command. @throws any other error */
function reportProblem(error: unknown): void {
  if (error instanceof InputError) process.stderr.write(`${error.message}\n`);
  else if ((error as Error).name === "AbortError") process.stderr.write("stopped\n");
  else throw error;
}
