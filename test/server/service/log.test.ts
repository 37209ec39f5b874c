/** Lines of the log that cannot be written are counted. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { logToStderr } from "../../../src/server/service/log.ts";

test("the next line that is written counts those that were lost", () => {
  const { write } = process.stderr;
  const lines: { event: string; dropped?: number }[] = [];
  let isFull = false;
  process.stderr.write = ((text: string, done: (error?: Error) => void) => {
    if (!isFull) lines.push(JSON.parse(text));
    done(isFull ? new Error("ENOSPC") : undefined);
    return true;
  }) as typeof write;
  try {
    logToStderr("info", "first");
    isFull = true;
    for (let i = 0; i < 3; i++) logToStderr("info", "lost");
    isFull = false;
    logToStderr("info", "second");
    logToStderr("info", "third");
  } finally {
    process.stderr.write = write;
  }
  assert.equal(
    lines.map(({ event, dropped }) => [event, dropped]),
    [
      ["first", undefined],
      ["second", 3],
      ["third", undefined],
    ],
  );
});

test.run();
