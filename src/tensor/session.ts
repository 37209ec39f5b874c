/** Compiles and runs traced graphs with onnxruntime-node. */

import "./no-telemetry.ts"; // before onnxruntime is loaded

import { realpath } from "node:fs/promises";
import { dirname, relative } from "node:path";
import { InferenceSession, Tensor as OrtTensor } from "onnxruntime-node";
import { readWhole } from "../checkpoints/part-reader.ts";
import { DTYPE_BYTES, elementCount } from "../checkpoints/values.ts";
import type { StoredValues } from "../checkpoints/weight-file.ts";
import { InputError } from "../io/errors.ts";
import { checkMemory } from "./memory.ts";
import { encodeOnnx, outputName } from "./onnx.ts";
import { isInt8, isMapped, isStored, type Weight, wholeTables } from "./onnx-weights.ts";
import { CORES, sessionOptions } from "./open-model.ts";
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
   * Whether onnxruntime plans the memory of each combination of sizes that occurs twice, as one
   * block. Blocks of different sizes add up. Default true.
   */
  memoryPattern?: boolean | undefined;
  /**
   * Values of the graph's parameters to keep in the session: arrays, which it copies, or places in
   * files, which it maps. Every run must feed the other parameters.
   */
  weights?: ReadonlyMap<string, Weight> | undefined;
}

/** Whether products with the weights are of integers: their inputs are rounded, too. */
export const roundsInputs = ({ provider = "cpu", weights }: CompileOptions): boolean =>
  provider === "cpu" && [...(weights?.values() ?? [])].some(isInt8);

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
 * Mapped weights of at most this size are packed for products, which copies them. Products of the
 * small matrices of `reatt-mini` then take 0.7 of the time (docs/experiments/speed.md), those of a
 * T5-large as long as before (docs/experiments/precision.md).
 */
const PACKED_BYTES = 2 ** 27;

/**
 * Compiles a graph. Weights of a float32 or int8 file are mapped, and packed if they are small.
 *
 * @throws {InputError} if the provider is not available, or the memory does not suffice.
 */
export async function compile(
  graph: Graph,
  { provider = "cpu", threads = CORES, memoryPattern = true, weights }: CompileOptions = {},
): Promise<Session> {
  const fixed = new Map([...(weights ?? [])].filter(([name]) => graph.parameters.has(name)));
  const tables = provider === "cpu" ? await takeTables(graph, fixed) : {};
  const stored = [...fixed.values()].filter(isStored);
  const packed = !(stored[0] && stored.every(isMapped)) || bytesOfAll(stored) <= PACKED_BYTES;
  checkMemory(fixed.values(), packed);
  const { folder, locate } = await findFiles(stored);
  const options: InferenceSession.SessionOptions = {
    ...sessionOptions(provider, threads, {
      model_external_initializers_file_folder_path: folder,
      disable_prepacking: packed ? "0" : "1",
    }),
    enableMemPattern: memoryPattern,
    externalData: [...fixed].flatMap(([path, weight]) =>
      isStored(weight) ? [] : { path, data: bytesOf(weight) },
    ),
  };
  const model = encodeOnnx(graph, fixed, { locate, fuse: provider === "cpu" });
  const session = await InferenceSession.create(model, options).catch((cause: Error) => {
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
  });
  const outputs = [...graph.outputs.keys()];
  return {
    async run<Output extends string>(
      given: Readonly<Record<string, Tensor>>,
      fetch: readonly Output[] = outputs as Output[],
      into: Readonly<Record<string, Tensor>> = {},
    ) {
      const feeds = { ...tables, ...given };
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

const bytesOfAll = (stored: readonly StoredValues[]): number =>
  stored.reduce((sum, { dtype, shape }) => sum + DTYPE_BYTES.get(dtype)! * elementCount(shape), 0);

/**
 * Takes from `weights` the tables of integers that the graph needs as float32, and reads them. If
 * onnxruntime computed them when it makes the session, it would copy them five times.
 */
async function takeTables(
  graph: Graph,
  weights: Map<string, Weight>,
): Promise<Record<string, Tensor>> {
  const tables: Record<string, Tensor> = {};
  for (const name of wholeTables(graph, weights)) {
    const place = weights.get(name) as StoredValues;
    tables[name] = { data: await readWhole(place), shape: place.shape };
    weights.delete(name);
  }
  return tables;
}

/**
 * The folder of weight files, and the place of each in it. onnxruntime rejects links that lead out
 * of the folder, as in the cache of the Hugging Face hub, so links are followed first.
 */
async function findFiles(
  weights: readonly StoredValues[],
): Promise<{ folder: string; locate: (file: string) => string }> {
  const paths = new Map<string, string>();
  for (const { file } of weights) if (!paths.has(file)) paths.set(file, await realpath(file));
  const folder = [...paths.values()].map(dirname).reduce(commonFolder, "");
  return { folder, locate: (file) => relative(folder, paths.get(file)!) };
}

/** The folder that contains both, or `other` if `folder` is empty. */
function commonFolder(folder: string, other: string): string {
  if (folder === "") return other;
  const isInside = !relative(folder, other).startsWith("..");
  return isInside ? folder : commonFolder(dirname(folder), other);
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
