/** How fast an engine multiplies matrices: what training takes is estimated from it. */

import { compile, type Provider } from "../../tensor/session.ts";
import { loadTensorFlow } from "../../tensor/tensorflow/load.ts";
import { trace } from "../../tensor/trace.ts";
import type { ResolvedOptions } from "../options/train-options.ts";

const ROWS = 1024;
const MEASURED_MS = 200;

/** Floating-point operations a second, by products of a model's width. @throws {InputError} without the engine. */
export async function measureProductRate(
  width: number,
  { engine, provider }: Pick<ResolvedOptions, "engine" | "provider">,
): Promise<number> {
  await using product =
    engine === "tensorflow" ? await tensorFlowProduct(width) : await onnxProduct(width, provider);
  await product.run();
  const start = performance.now();
  let runs = 0;
  while (performance.now() - start < MEASURED_MS) {
    await product.run();
    runs++;
  }
  return (2000 * runs * ROWS * ROWS * width) / (performance.now() - start);
}

interface Product extends AsyncDisposable {
  run(): Promise<unknown>;
}

async function onnxProduct(width: number, provider: Provider | undefined): Promise<Product> {
  const graph = trace(
    { a: ["float32", ROWS, width], b: ["float32", width, ROWS] },
    (tracer, { a, b }) => ({
      product: tracer.matmul(a, b),
    }),
  );
  const session = await compile(graph, { provider });
  const data = new Float32Array(ROWS * width).fill(1);
  const feeds = { a: { data, shape: [ROWS, width] }, b: { data, shape: [width, ROWS] } };
  return {
    run: () => session.run(feeds),
    [Symbol.asyncDispose]: () => session[Symbol.asyncDispose](),
  };
}

async function tensorFlowProduct(width: number): Promise<Product> {
  const { tf } = await loadTensorFlow();
  const [a, b] = [tf.ones([ROWS, width]), tf.ones([width, ROWS])];
  return {
    async run() {
      const product = tf.matMul(a, b);
      await product.data(); // a graphics card computes when it is asked for
      product.dispose();
    },
    async [Symbol.asyncDispose]() {
      tf.dispose([a, b]);
    },
  };
}
