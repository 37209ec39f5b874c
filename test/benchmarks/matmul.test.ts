/** The FLOPs that the benchmark counts, compared with the formula of a T5 encoder block. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { flopsOf, type Product, productsOf } from "../../benchmarks/bench/matmul.ts";
import { traceReading, traceRetrieval } from "../../src/encoder/retriever-session.ts";
import { tinyConfig } from "../support/tiny-model.ts";

test("the lower layers have the FLOPs of their formula", () => {
  for (const feedForward of ["relu", "gated-gelu"] as const) {
    const config = tinyConfig({ encoderLayers: 3, retrievalLayer: 2, feedForward });
    const { headSize, heads, feedForwardSize } = config.decoder; // of all layers
    const { modelSize } = config;
    const [batch, length] = [3, 11];
    const inner = heads * headSize;
    const attention = 2 * length * 4 * modelSize * inner + 2 * 2 * length ** 2 * inner;
    const dense = 2 * length * (feedForward === "relu" ? 2 : 3) * modelSize * feedForwardSize;
    const vectors = 2 * 2 * length * modelSize * headSize; // queries and keys
    const products = productsOf(traceReading(config), { batch, length });
    const sum = (products: Product[]) => products.reduce((sum, one) => sum + flopsOf(one), 0);
    assert.is(sum(products), batch * 2 * (attention + dense));
    assert.is(sum(productsOf(traceRetrieval(config), { batch, length })), batch * vectors);
    assert.is(
      products.filter(({ weight }) => !weight).length,
      2 * 2,
      "scores and contexts of two blocks",
    );
  }
});

test("a missing size is an error", () => {
  assert.throws(
    () => productsOf(traceReading(tinyConfig()), { batch: 1 }),
    /the size of axis "length"/,
  );
});

test.run();
