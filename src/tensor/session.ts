/** Runs traced graphs on onnxruntime-node. */

import "./no-telemetry.ts"; // before onnxruntime is loaded

import { InferenceSession, Tensor as OrtTensor } from "onnxruntime-node";
import { InputError } from "../io/errors.ts";
import { encodeOnnx, outputName } from "./onnx.ts";
import type { Tensor } from "./ops.ts";
import type { Graph } from "./trace.ts";

/** What computes: the processor, any graphics card through Vulkan, Metal or DirectX, or an NVIDIA card. */
export type Provider = "cpu" | "webgpu" | "cuda";

export interface CompileOptions {
  /** Default `cpu`. */
  provider?: Provider | undefined;
  /** Threads of the cpu provider; default one for each physical core. */
  threads?: number | undefined;
  /** Values of the graph's parameters, which then stay with the session. Parameters that are not here are fed at each run. */
  weights?: ReadonlyMap<string, Float32Array> | undefined;
}

/** A compiled graph. */
export interface Session extends AsyncDisposable {
  /**
   * Computes the outputs named in `fetch`, or all.
   *
   * An output that `into` names is written into that tensor's memory. That may be the memory of an input, if each number
   * of the output depends on no number of that input but the one in its own place, and nothing else reads the input later.
   */
  run<Output extends string = string>(
    feeds: Readonly<Record<string, Tensor>>,
    fetch?: readonly Output[],
    into?: Readonly<Record<string, Tensor>>,
  ): Promise<Record<Output, Tensor>>;
}

/**
 * How long a thread without work keeps its core before it sleeps. Left to itself onnxruntime spins for milliseconds, in each
 * session, and so takes cores from the session that runs next and from other programs: on 2 cores shared with others a run
 * then costs 1.7 times the processor time. Not to spin at all costs a tenth where runs take 2 ms.
 */
const IDLE_SPIN_US = 10;

/** Makes a graph runnable. Throws `InputError` where the provider cannot be had. */
export async function compile(
  graph: Graph,
  { provider = "cpu", threads, weights }: CompileOptions = {},
): Promise<Session> {
  const fixed = new Set([...graph.parameters.keys()].filter((name) => weights?.has(name)));
  const options: InferenceSession.SessionOptions = {
    executionProviders: [provider],
    logSeverityLevel: 3, // errors only: what onnxruntime warns of is how it assigns nodes to providers
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
