/** Loads TensorFlow.js from one of its packages. All of them are optional. */

import util from "node:util";
import { InputError } from "../../io/errors.ts";

/** The common interface of all TensorFlow.js packages. */
export type TensorFlow = typeof import("@tensorflow/tfjs-core");

export interface LoadedTensorFlow {
  readonly tf: TensorFlow;
  /** The package, for example `@tensorflow/tfjs-node-gpu`. */
  readonly name: string;
  /** Errors of the faster packages that did not load. */
  readonly failures: readonly Error[];
}

/** Fastest first. The last one is pure JavaScript. */
const PACKAGES = ["@tensorflow/tfjs-node-gpu", "@tensorflow/tfjs-node", "@tensorflow/tfjs"];

type Import = (name: string) => Promise<{ default: unknown }>;

/**
 * Loads the fastest TensorFlow.js that is installed and works. @throws {InputError} if there is
 * none.
 */
export async function loadTensorFlow(
  importModule: Import = (name) => import(name),
): Promise<LoadedTensorFlow> {
  process.env.TF_CPP_MIN_LOG_LEVEL ??= "2"; // errors only; the warnings are about build options
  restoreUtil();
  const failures: Error[] = [];
  for (const name of PACKAGES) {
    try {
      const tf = (await importModule(name)).default as TensorFlow;
      tf.enableProdMode(); // no messages, and no search for NaN in every tensor
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

/** tfjs-node 4.22 calls two deprecated functions of Node. Node 23 removed isNullOrUndefined. */
function restoreUtil(): void {
  const functions = util as unknown as Record<string, unknown>;
  functions.isNullOrUndefined ??= (value: unknown) => value === null || value === undefined;
  functions.isArray ??= Array.isArray;
}
