/** The matrix multiplication speed of an engine. Time estimates of training are based on it. */

import { compile, type Provider } from "../../tensor/session.ts";
import { loadTensorFlow } from "../../tensor/tensorflow/load.ts";
import { trace } from "../../tensor/trace.ts";
import type { Device } from "./open-engine.ts";

const ROWS = 1024;
const MEASURED_MS = 300;
/** As in a feed-forward layer of T5. */
const WIDENING = 4;
/**
 * Pairs of products of a run of onnxruntime. A run of one product alone spends half of its time on
 * its inputs and its result.
 */
const PAIRS = 4;

/**
 * Floating-point operations per second for matrices of a model's width.
 *
 * @throws {InputError} if the engine is not installed.
 */
export async function measureMatMulRate(
  width: number,
  { engine, provider }: Device,
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
  return (1000 * runs * matMul.operations) / (performance.now() - start);
}

interface MatMul extends AsyncDisposable {
  /** Floating-point operations of a run. */
  readonly operations: number;
  run(): Promise<unknown>;
}

/** Feed-forward layers without their activations. */
async function onnxMatMul(width: number, provider: Provider | undefined): Promise<MatMul> {
  const wide = WIDENING * width;
  const graph = trace(
    {
      states: ["float32", ROWS, width],
      up: ["float32", width, wide],
      down: ["float32", wide, width],
    },
    (tracer, { states, up, down }) => {
      let result = states;
      for (let i = 0; i < PAIRS; i++) result = tracer.matmul(tracer.matmul(result, up), down);
      return { result };
    },
  );
  const session = await compile(graph, { provider });
  const filled = (rows: number, columns: number) => ({
    data: new Float32Array(rows * columns).fill(1 / width), // results stay finite
    shape: [rows, columns],
  });
  const feeds = { states: filled(ROWS, width), up: filled(width, wide), down: filled(wide, width) };
  return {
    operations: PAIRS * 4 * ROWS * width * wide,
    run: () => session.run(feeds),
    [Symbol.asyncDispose]: () => session[Symbol.asyncDispose](),
  };
}

/** One product: matrices stay on the device, and the engine in JavaScript needs seconds for it. */
async function tensorFlowMatMul(width: number): Promise<MatMul> {
  const { tf } = await loadTensorFlow();
  const [a, b] = [tf.ones([ROWS, width]), tf.ones([width, ROWS])];
  return {
    operations: 2 * ROWS * ROWS * width,
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
