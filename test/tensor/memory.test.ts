/** Too little memory for the weights of a session: one line, before anything is loaded. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import type { StoredValues } from "../../src/checkpoints/weight-file.ts";
import { InputError } from "../../src/io/errors.ts";
import { checkMemory } from "../../src/tensor/memory.ts";
import { compile } from "../../src/tensor/session.ts";
import { trace } from "../../src/tensor/trace.ts";

const stored = (dtype: string, shape: readonly number[]): StoredValues =>
  ({ file: "model.safetensors", position: 0, dtype, shape }) as StoredValues;
const message = (call: () => unknown): string => {
  try {
    call();
  } catch (error) {
    assert.instance(error, InputError);
    return (error as Error).message;
  }
  return "";
};

test("weights of 16 bits become float32, and are packed once more", () => {
  const weights = [stored("F16", [1000, 250]), stored("BF16", [250_000])]; // 2 MB in float32
  assert.is(
    message(() => checkMemory(weights, false, 2e6)),
    "",
  );
  assert.is(
    message(() => checkMemory(weights, true, 4e6)),
    "",
  );
  assert.is(
    message(() => checkMemory([stored("F16", [1e9])], true, 3.21e9)),
    "model.safetensors: expected 8.00 GB of memory, since its weights are not mapped, got 3.21 GB " +
      "free; free some, or write weights that are mapped: reatt convert --precision fp32 or int8",
  );
});

test("mapped weights take none, arrays do", () => {
  assert.is(
    message(() => checkMemory([stored("F32", [2 ** 40])], true, 0)),
    "",
  );
  assert.match(
    message(() => checkMemory([new Float32Array(500)], false, 1999)),
    /^weights: expected 2.00 kB/,
  );
  assert.is(
    message(() => checkMemory([new Float32Array(500)], false, 2000)),
    "",
  );
});

test("a session is not begun", async () => {
  const graph = trace({ x: ["float32", 2] }, (ops, { x }) => ({
    y: ops.add(x, ops.parameter("w", [2])),
  }));
  const weights = new Map([["w", stored("F16", [2 ** 40])]]);
  const error = await compile(graph, { weights }).catch((thrown: unknown) => thrown);
  assert.instance(error, InputError);
  assert.match((error as Error).message, /^model\.safetensors: expected 8\.80 TB of memory/);
});

test.run();
