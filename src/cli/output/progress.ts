/** Progress on stderr: a bar on a terminal, a line every 10 seconds elsewhere. */

import { createRequire } from "node:module";

/** Time between two lines if stderr is not a terminal. */
const LINE_INTERVAL_MS = 10_000;
const FIRST_LINE_MS = 1_000;

export interface Progress {
  /** Shows the number of items done, with a note such as the loss. */
  update(done: number, note?: string): void;
  /** Sets the number of items that were done before: they do not count for the rate. */
  resume(done: number): void;
  stop(): void;
}

/**
 * @param unit the items that are counted, in the plural
 * @param started when the work began, if that was before
 */
export function startProgress(
  unit: string,
  total: number,
  started: number = performance.now(),
): Progress {
  let resumed = 0;
  const show = process.stderr.isTTY ? createBar(unit, total) : createLines(unit, total);
  return {
    update(done, note = "") {
      const seconds = (performance.now() - started) / 1000;
      const rate = (done - resumed) / seconds;
      show.update(done, {
        rate: rate < 10 ? rate.toPrecision(2) : rate.toFixed(0),
        left: duration((total - done) / rate),
        note: note && `, ${note}`,
      });
    },
    resume(done) {
      resumed = done;
      show.update(done, UNKNOWN);
    },
    stop: () => show.stop(),
  };
}

/**
 * Yields results and shows their number, unless there is only one or the terminal shows them.
 *
 * @param printed whether the caller prints each result to stdout
 */
export async function* withProgress<T>(
  unit: string,
  total: number,
  results: AsyncIterable<T>,
  printed: boolean,
): AsyncGenerator<T, void> {
  const visible = printed && process.stdout.isTTY && process.stderr.isTTY;
  if (total === 1 || visible) return yield* results;
  const progress = startProgress(unit, total);
  let done = 0;
  try {
    for await (const result of results) {
      yield result;
      progress.update(++done);
    }
  } finally {
    progress.stop();
  }
}

/** 3725 -> "1:02:05", 65 -> "1:05". */
export function duration(seconds: number): string {
  if (!Number.isFinite(seconds)) return UNKNOWN.left;
  const rounded = Math.round(seconds);
  const pad = (value: number) => String(value).padStart(2, "0");
  const minutes = Math.floor(rounded / 60) % 60;
  const hours = Math.floor(rounded / 3600);
  return `${hours > 0 ? `${hours}:${pad(minutes)}` : minutes}:${pad(rounded % 60)}`;
}

interface Pace {
  readonly rate: string;
  readonly left: string;
  readonly note: string;
}

interface Display {
  update(done: number, pace: Pace): void;
  stop(): void;
}

const UNKNOWN: Pace = { rate: "?", left: "?", note: "" };

function createBar(unit: string, total: number): Display {
  // loaded for a bar alone: most commands show none
  const require = createRequire(import.meta.url);
  const cliProgress: typeof import("cli-progress") = require("cli-progress");
  const bar = new cliProgress.SingleBar(
    {
      format: `{bar} {value}/{total} ${unit}, {rate}/s, {left} left{note}`,
      hideCursor: true,
      gracefulExit: true,
    },
    cliProgress.Presets.shades_classic,
  );
  bar.start(total, 0, UNKNOWN);
  return { update: (done, pace) => bar.update(done, pace), stop: () => bar.stop() };
}

function createLines(unit: string, total: number): Display {
  let next = performance.now() + FIRST_LINE_MS;
  let isWhole = false;
  return {
    update(done, { rate, left, note }) {
      if (isWhole || (performance.now() < next && done < total)) return;
      isWhole = done >= total;
      next = performance.now() + LINE_INTERVAL_MS;
      process.stderr.write(`${done}/${total} ${unit}, ${rate}/s, ${left} left${note}\n`);
    },
    stop() {},
  };
}
