/** Commands that may open few files. */

import { spawnSync } from "node:child_process";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { LOADER, moduleArguments } from "../support/node-program.ts";

// tsx needs more descriptors than the command.
const onUnix = process.platform === "win32" || LOADER.length > 0 ? test.skip : test;

onUnix("a command with too few descriptors ends with one line", () => {
  const command = [process.execPath, ...moduleArguments("src/cli/main.ts")];
  const args = ["answer", "--index", "/nowhere/index", "--question", "x"];
  for (const files of [100, 120]) {
    const script = `ulimit -n ${files}; exec "$0" "$@"`;
    const { status, stderr } = spawnSync("sh", ["-c", script, ...command, ...args], {
      encoding: "utf8",
    });
    const shown = `${files}: ${stderr}`;
    assert.is(status, 1, shown);
    assert.match(stderr, /^reatt: .*: expected .*, got .*; .*\n$/, shown);
    assert.is(stderr.trim().split("\n").length, 1, shown);
    assert.not.match(stderr, "defect");
  }
});

test.run();
