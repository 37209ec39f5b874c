/** The matrix multiplication speed of an engine. Time estimates of training are based on it. */

import { compile, type Provider } from "../../tensor/session.ts";
import { loadTensorFlow } from "../../tensor/tensorflow/load.ts";
import { trace } from "../../tensor/trace.ts";
import type { ResolvedOptions } from "../options/train-options.ts";

const ROWS = 1024;
const MEASURED_MS = 200;

/**
 * Floating-point operations per second for matrices of a model's width.
 *
 * @throws {InputError} if the engine is not installed.
 */
export async function measureMatMulRate(
  width: number,
  { engine, provider }: Pick<ResolvedOptions, "engine" | "provider">,
): Promise<number> {
  await using matMul =
    engine === "tensorflow" ? await tensorFlowMatMul(width) : await onnxMatMul(width, provider);
  await matMul.run();
  const start = performance.now();
  let runs = 0;
  while (performance.now() - start < MEASURED_MS) {
    await matMul.run();
    runs++;
  }
  return (2000 * runs * ROWS * ROWS * width) / (performance.now() - start);
}

interface MatMul extends AsyncDisposable {
  run(): Promise<unknown>;
}

async function onnxMatMul(width: number, provider: Provider | undefined): Promise<MatMul> {
  const graph = trace(
    { a: ["float32", ROWS, width], b: ["float32", width, ROWS] },
    (tracer, { a, b }) => ({ product: tracer.matmul(a, b) }),
  );
  const session = await compile(graph, { provider });
  const data = new Float32Array(ROWS * width).fill(1);
  const feeds = { a: { data, shape: [ROWS, width] }, b: { data, shape: [width, ROWS] } };
  return {
    run: () => session.run(feeds),
    [Symbol.asyncDispose]: () => session[Symbol.asyncDispose](),
  };
}

async function tensorFlowMatMul(width: number): Promise<MatMul> {
  const { tf } = await loadTensorFlow();
  const [a, b] = [tf.ones([ROWS, width]), tf.ones([width, ROWS])];
  return {
    async run() {
      const product = tf.matMul(a, b);
      await product.data(); // a graphics card computes only when values are read
      product.dispose();
    },
    async [Symbol.asyncDispose]() {
      tf.dispose([a, b]);
    },
  };
}
