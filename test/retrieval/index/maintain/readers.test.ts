/** A process searches while another adds and deletes passages: no errors and no wrong results. */

import { fork } from "node:child_process";
import { once } from "node:events";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { verifyIndex } from "../../../../src/retrieval/maintain.ts";
import { LOADER, programBeside } from "../../../support/node-program.ts";
import { build, temporary } from "../../support.ts";
import type { Report } from "./endless-reader.ts";
import { change, FIRST_STATE } from "./small-changes.ts";

const READER = programBeside("endless-reader", import.meta.url);
const CHANGES = 120;

for (const bits of [undefined, 2] as const)
  test(`${CHANGES} changes while a process searches, ${bits ? `${bits} bits` : "float32"}`, async () => {
    await using directory = await temporary();
    await build(directory.path, FIRST_STATE, { bits });
    const reader = fork(READER, [directory.path, String(bits ?? "")], {
      execArgv: [...LOADER],
    });
    const exit = once(reader, "exit");
    await Promise.race([once(reader, "message"), exit]);
    for (let generation = 2; generation <= CHANGES + 1; generation++)
      await change(directory.path, generation);
    const reported = once(reader, "message");
    reader.send("stop");
    const [report] = (await Promise.race([reported, exit])) as [Report];
    assert.equal(await exit, [0, null]);
    assert.equal(report.wrong, []);
    assert.ok(report.states > 5, `${report.states} states in ${report.searches} searches`);
    assert.equal(await verifyIndex(directory.path), []);
  });

test.run();
