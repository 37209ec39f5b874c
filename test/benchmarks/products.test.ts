/** The FLOPs that the benchmark counts in a graph, against the formula of a T5 encoder block. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { flopsOf, productsOf } from "../../benchmarks/bench/products.ts";
import { traceLower } from "../../src/encoder/retriever-session.ts";
import { tinyConfig } from "../support/tiny-model.ts";

test("the lower layers have the FLOPs of their formula", () => {
  for (const feedForward of ["relu", "gated-gelu"] as const) {
    const config = tinyConfig({ encoderLayers: 3, retrievalLayer: 2, feedForward });
    const { modelSize, headSize, heads, feedForwardSize } = config;
    const [batch, length] = [3, 11];
    const inner = heads * headSize;
    const attention = 2 * length * 4 * modelSize * inner + 2 * 2 * length ** 2 * inner;
    const dense = 2 * length * (feedForward === "relu" ? 2 : 3) * modelSize * feedForwardSize;
    const vectors = 2 * 2 * length * modelSize * headSize; // queries and keys
    const products = productsOf(traceLower(config), { batch, length });
    const flops = products.reduce((sum, product) => sum + flopsOf(product), 0);
    assert.is(flops, batch * (2 * (attention + dense) + vectors));
    assert.is(
      products.filter(({ weight }) => !weight).length,
      2 * 2,
      "scores and contexts of two blocks",
    );
  }
});

test("a size that nobody gave is an error", () => {
  assert.throws(
    () => productsOf(traceLower(tinyConfig()), { batch: 1 }),
    /the size of axis "length"/,
  );
});

test.run();
