/** Running the command line inside the test's own process. */

import { COMMANDS } from "../../src/cli/commands.ts";
import type { CommandEntry } from "../../src/cli/line/command.ts";
import { run } from "../../src/cli/run.ts";

export interface Output {
  stdout: string;
  stderr: string;
}

/** The output of `work`, for which both streams are files. */
export async function captureOutput(work: () => unknown): Promise<Output> {
  const output: Output = { stdout: "", stderr: "" };
  const restore = (["stdout", "stderr"] as const).map((name) => {
    const stream = process[name];
    const { write, isTTY } = stream;
    stream.isTTY = false;
    stream.write = (text: string | Uint8Array) => {
      output[name] += text;
      return true;
    };
    return () => Object.assign(stream, { write, isTTY });
  });
  try {
    await work();
  } finally {
    for (const put of restore) put();
  }
  return output;
}

interface RunOptions {
  readonly commands?: readonly CommandEntry[];
  readonly signal?: AbortSignal;
}

/** Runs a command line to its end. */
export async function runCaptured(
  args: readonly string[],
  { commands = COMMANDS, signal = new AbortController().signal }: RunOptions = {},
): Promise<Output & { code: number }> {
  let code = -1;
  const output = await captureOutput(async () => {
    code = await run(commands, args, signal);
  });
  return { ...output, code };
}
