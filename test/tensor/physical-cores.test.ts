/** Cores as Linux counts them, in folders of the form of /sys/devices/system/cpu. */

import { mkdirSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { physicalCores } from "../../src/tensor/physical-cores.ts";
import { temporaryFolder } from "../support/training.ts";

/** A folder of processors with these siblings; undefined: the processor is switched off. */
function processors(folder: string, siblings: readonly (string | undefined)[]): string {
  siblings.forEach((list, i) => {
    const topology = join(folder, `cpu${i}`, list === undefined ? "" : "topology");
    mkdirSync(topology, { recursive: true });
    if (list !== undefined) writeFileSync(join(topology, "thread_siblings_list"), `${list}\n`);
  });
  mkdirSync(join(folder, "cpufreq"));
  return folder;
}

test("two threads of a core count once", async () => {
  await using folder = temporaryFolder();
  const path = processors(folder.path, ["0,4", "1,5", undefined, undefined, "0,4", "1,5"]);
  assert.is(physicalCores(path, 4), 2);
});

test("a container can have fewer processors than the machine has cores", async () => {
  await using folder = temporaryFolder();
  assert.is(physicalCores(processors(folder.path, ["0", "1", "2", "3"]), 2), 2);
});

test("where the system does not say, onnxruntime decides", async () => {
  await using folder = temporaryFolder();
  assert.is(physicalCores(join(folder.path, "missing")), undefined);
  assert.is(physicalCores(processors(folder.path, [undefined])), undefined);
});

test("this machine has no more cores than processors", () => {
  assert.ok((physicalCores() ?? 1) <= availableParallelism());
});

test.run();
