/** Finds a TensorFlow.js among the packages that have one. None of them is needed by anything else. */

import util from "node:util";
import { InputError } from "../../io/errors.ts";

/** What all packages of TensorFlow.js offer. */
export type TensorFlow = typeof import("@tensorflow/tfjs-core");

export interface LoadedTensorFlow {
  readonly tf: TensorFlow;
  /** The package it came from, e.g. `@tensorflow/tfjs-node-gpu`. */
  readonly name: string;
  /** Why the packages that would have been faster did not load. */
  readonly failures: readonly Error[];
}

/** Fastest first; the last one is JavaScript alone. */
const CANDIDATES = ["@tensorflow/tfjs-node-gpu", "@tensorflow/tfjs-node", "@tensorflow/tfjs"];

type Import = (name: string) => Promise<{ default: unknown }>;

/** Loads the fastest TensorFlow.js that is installed and works. Throws `InputError` where there is none. */
export async function loadTensorFlow(
  importModule: Import = (name) => import(name),
): Promise<LoadedTensorFlow> {
  process.env.TF_CPP_MIN_LOG_LEVEL ??= "2"; // errors only: what else it prints is how it was built
  restoreUtil();
  const failures: Error[] = [];
  for (const name of CANDIDATES) {
    try {
      const tf = (await importModule(name)).default as TensorFlow;
      tf.enableProdMode(); // which is silent, and does not look for NaN in every tensor
      await tf.ready();
      return { tf, name, failures };
    } catch (cause) {
      const [reason] = (cause as Error).message.split(/\.?\s*\n|\.\s*$/);
      failures.push(new Error(`${name}: ${reason}`, { cause }));
    }
  }
  throw new InputError(
    {
      where: "engine tensorflow",
      expected: "@tensorflow/tfjs-node-gpu, @tensorflow/tfjs-node or @tensorflow/tfjs",
      got: failures[0]!.message,
      remedy: "npm install @tensorflow/tfjs-node-gpu, or use the engine onnxruntime",
    },
    { cause: new AggregateError(failures) },
  );
}

/** tfjs-node 4.22 calls two functions that Node removed (isNullOrUndefined, in 23) or is about to. */
function restoreUtil(): void {
  const functions = util as unknown as Record<string, unknown>;
  functions.isNullOrUndefined ??= (value: unknown) => value === null || value === undefined;
  functions.isArray ??= Array.isArray;
}
