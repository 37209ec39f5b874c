/**
 * Weights beyond the 2 GB limit of a protobuf. Runs only with REATT_LARGE_TESTS=1: needs 4 GB of
 * memory and some seconds.
 */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { compile } from "../../src/tensor/session.ts";
import { trace } from "../../src/tensor/trace.ts";

const ROWS = 2 ** 18 + 1;
const COLUMNS = 1024; // 1 GiB and 4 KiB a weight

const title = "weights of 2 GB and more in sum";

async function sumOfLastRows(): Promise<void> {
  const graph = trace({ row: ["int32", 1] }, (ops, { row }) => {
    const rowOf = (name: string) => ops.gather(ops.parameter(name, [ROWS, COLUMNS]), row);
    return { sum: ops.add(rowOf("first"), rowOf("second")) };
  });
  const weight = (last: number) => new Float32Array(ROWS * COLUMNS).fill(last, -COLUMNS);
  const weights = new Map([
    ["first", weight(1)],
    ["second", weight(2)],
  ]);
  await using session = await compile(graph, { weights });
  const { sum } = await session.run<"sum">({ row: { data: Int32Array.of(ROWS - 1), shape: [1] } });
  assert.equal(sum.data, new Float32Array(COLUMNS).fill(3));
}

if (process.env.REATT_LARGE_TESTS === "1") test(title, sumOfLastRows);
else {
  console.log(`skipped: ${title}: set REATT_LARGE_TESTS=1 to run it in 4 GB of memory`);
  test.skip(title);
}

test.run();
