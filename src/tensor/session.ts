/** Compiles and runs traced graphs with onnxruntime-node. */

import "./no-telemetry.ts"; // before onnxruntime is loaded

import { InferenceSession, Tensor as OrtTensor } from "onnxruntime-node";
import { InputError } from "../io/errors.ts";
import { encodeOnnx, outputName } from "./onnx.ts";
import type { Tensor } from "./ops.ts";
import type { Graph } from "./trace.ts";

/** Execution provider: the CPU, any GPU through Vulkan, Metal or DirectX, or an NVIDIA GPU. */
export type Provider = "cpu" | "webgpu" | "cuda";

export interface CompileOptions {
  /** Default `cpu`. */
  provider?: Provider | undefined;
  /** Number of threads of the cpu provider. Default: the number of physical cores. */
  threads?: number | undefined;
  /**
   * Values of the graph's parameters to keep in the session. Every run must feed the other
   * parameters.
   */
  weights?: ReadonlyMap<string, Float32Array> | undefined;
}

/** A compiled graph. */
export interface Session extends AsyncDisposable {
  /**
   * Computes the outputs named in `fetch`, or all outputs.
   *
   * `into` gives memory for outputs. It may be the memory of an input if each value of the output
   * depends only on the value of that input at the same position, and if nothing reads the input
   * afterwards.
   */
  run<Output extends string = string>(
    feeds: Readonly<Record<string, Tensor>>,
    fetch?: readonly Output[],
    into?: Readonly<Record<string, Tensor>>,
  ): Promise<Record<Output, Tensor>>;
}

/**
 * Time that an idle thread spins before it sleeps. By default the threads of each session spin for
 * milliseconds and take cores from the next session and from other programs: on 2 shared cores, a
 * run then needs 1.7 times the processor time. Without any spinning, runs of 2 ms take 10 % longer.
 */
const IDLE_SPIN_US = 10;

/** Compiles a graph. @throws {InputError} if the provider is not available. */
export async function compile(
  graph: Graph,
  { provider = "cpu", threads, weights }: CompileOptions = {},
): Promise<Session> {
  const fixed = new Set([...graph.parameters.keys()].filter((name) => weights?.has(name)));
  const options: InferenceSession.SessionOptions = {
    executionProviders: [provider],
    logSeverityLevel: 3, // errors only; the warnings are about the assignment of nodes to providers
    externalData: [...fixed].map((name) => ({ path: name, data: bytesOf(weights!.get(name)!) })),
    extra: { session: { intra_op: { spin_duration_us: String(IDLE_SPIN_US) } } },
    ...(threads === undefined ? {} : { intraOpNumThreads: threads }),
  };
  const session = await InferenceSession.create(encodeOnnx(graph, fixed), options).catch(
    (cause: Error) => {
      if (provider === "cpu") throw cause;
      throw new InputError(
        {
          where: `provider ${provider}`,
          expected: "a device that onnxruntime can use",
          got: cause.message.split("\n")[0]!,
          remedy: "use the cpu provider, or install the device's driver",
        },
        { cause },
      );
    },
  );
  const outputs = [...graph.outputs.keys()];
  return {
    async run<Output extends string>(
      feeds: Readonly<Record<string, Tensor>>,
      fetch: readonly Output[] = outputs as Output[],
      into: Readonly<Record<string, Tensor>> = {},
    ) {
      const results = await session.run(
        Object.fromEntries(Object.entries(feeds).map(([name, tensor]) => [name, toOrt(tensor)])),
        Object.fromEntries(
          fetch.map((name) => [outputName(name), into[name] ? toOrt(into[name]) : null]),
        ),
      );
      return Object.fromEntries(
        fetch.map((name) => [name, into[name] ?? fromOrt(results[outputName(name)]!)]),
      ) as Record<Output, Tensor>;
    },
    [Symbol.asyncDispose]: () => session.release(),
  };
}

const bytesOf = (data: Float32Array): Uint8Array =>
  new Uint8Array(data.buffer, data.byteOffset, data.byteLength);

const toOrt = ({ data, shape }: Tensor): OrtTensor =>
  data instanceof Float32Array
    ? new OrtTensor("float32", data, shape)
    : new OrtTensor("int32", data, shape);

const fromOrt = (tensor: OrtTensor): Tensor => ({
  data: tensor.data as Float32Array | Int32Array,
  shape: tensor.dims,
});
