/** Loads TensorFlow.js from one of its packages. All of them are optional. */

import util from "node:util";
import { InputError } from "../../io/errors.ts";

/** The common interface of all TensorFlow.js packages. */
export type TensorFlow = typeof import("@tensorflow/tfjs-core");

export interface LoadedTensorFlow {
  readonly tf: TensorFlow;
  /** The package, for example `@tensorflow/tfjs-node-gpu`. */
  readonly name: string;
  /** What computes. The package without native code computes on the CPU in JavaScript. */
  readonly device: "GPU" | "CPU" | "JavaScript";
  /** Errors of the faster packages that did not load. */
  readonly failures: readonly Error[];
}

/** Fastest first. The last one is pure JavaScript. */
const PACKAGES = ["@tensorflow/tfjs-node-gpu", "@tensorflow/tfjs-node", "@tensorflow/tfjs"];
const PURE_JAVASCRIPT = "@tensorflow/tfjs";

type Import = (name: string) => Promise<object>;

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
      const tf = await importQuietly(name, importModule);
      tf.enableProdMode(); // no messages, and no search for NaN in every tensor
      await tf.ready();
      return { tf, name, device: deviceOf(tf, name), failures };
    } catch (cause) {
      const [reason] = (cause as Error).message.split(/\.?\s*\n|\.\s*$/);
      failures.push(new Error(`${name}: ${reason}`, { cause }));
    }
  }
  throw new InputError(
    {
      code: "ERR_REATT_NO_PACKAGE",
      where: "engine tensorflow",
      expected: "@tensorflow/tfjs-node-gpu, @tensorflow/tfjs-node or @tensorflow/tfjs",
      got: failures[0]!.message,
      remedy: "npm install @tensorflow/tfjs-node-gpu, or use the engine onnxruntime",
    },
    { cause: new AggregateError(failures) },
  );
}

/**
 * Imports a package without its warnings about kernels. tfjs-node-gpu registers its kernels before
 * it looks for its native library. Without that, tfjs-node registers all of them again, with a
 * warning for each.
 */
async function importQuietly(name: string, importModule: Import): Promise<TensorFlow> {
  const { warn } = console;
  console.warn = (...values: unknown[]) => {
    if (!/^The kernel .* is already registered/.test(String(values[0]))) warn(...values);
  };
  try {
    const module = await importModule(name);
    // CommonJS: Node has the exports as default; tsx has the exports themselves
    return ("default" in module && module.default ? module.default : module) as TensorFlow;
  } finally {
    console.warn = warn;
  }
}

function deviceOf(tf: TensorFlow, name: string): LoadedTensorFlow["device"] {
  if (name === PURE_JAVASCRIPT) return "JavaScript";
  // A property of the backend of tfjs-node
  return (tf.backend() as { isUsingGpuDevice?: boolean }).isUsingGpuDevice ? "GPU" : "CPU";
}

/**
 * Replaces two functions of Node that tfjs-node 4.22 calls. Node 22 and 24 print a deprecation when
 * they are called; Node 23 removed isNullOrUndefined.
 */
function restoreUtil(): void {
  const functions = util as unknown as Record<string, unknown>;
  functions.isNullOrUndefined = (value: unknown) => value === null || value === undefined;
  functions.isArray = Array.isArray;
}
