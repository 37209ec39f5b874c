/** Loading of TensorFlow.js with installed, broken and missing packages. */

import util from "node:util";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { InputError } from "../../../src/io/errors.ts";
import { loadTensorFlow } from "../../../src/tensor/tensorflow/load.ts";

/** Imports a fake for each package in `working`; other packages are missing. */
function imports(working: readonly string[], asked: string[] = []) {
  return async (name: string) => {
    asked.push(name);
    if (!working.includes(name)) throw new Error(`Cannot find package '${name}'\nsecond line`);
    return { default: { package: name, enableProdMode: () => {}, ready: async () => {} } };
  };
}

test("the fastest working package is loaded, and the errors of the others are reported", async () => {
  const asked: string[] = [];
  const working = ["@tensorflow/tfjs-node", "@tensorflow/tfjs"];
  const { tf, name, failures } = await loadTensorFlow(imports(working, asked));
  assert.is(name, "@tensorflow/tfjs-node");
  assert.is((tf as unknown as { package: string }).package, name);
  assert.equal(asked, ["@tensorflow/tfjs-node-gpu", "@tensorflow/tfjs-node"]);
  assert.equal(
    failures.map(({ message }) => message),
    ["@tensorflow/tfjs-node-gpu: Cannot find package '@tensorflow/tfjs-node-gpu'"],
  );
});

test("the package without an install script can differentiate", async () => {
  const { tf } = await loadTensorFlow((name) =>
    name === "@tensorflow/tfjs" ? import(name) : Promise.reject(new Error(`${name} is left out`)),
  );
  const gradient = tf.grad((x) => tf.div(1, tf.mul(x, x)))(tf.scalar(2));
  assert.ok(Math.abs((await gradient.data())[0]! + 0.25) < 1e-6); // -2 / x^3
});

test("no package: one line with the remedy, and all errors in its cause", async () => {
  const error = await loadTensorFlow(imports([])).catch((caught: unknown) => caught);
  assert.instance(error, InputError);
  const { message, cause } = error as InputError;
  assert.match(message, /^engine tensorflow: expected .*; npm install @tensorflow\/tfjs-node-gpu,/);
  assert.not.match(message, "\n");
  assert.is((cause as AggregateError).errors.length, 3);
});

test("the functions of node:util that tfjs-node needs exist, also in Node 23 and later", async () => {
  const functions = util as unknown as Record<string, ((value: unknown) => boolean) | undefined>;
  const { isNullOrUndefined, isArray } = functions;
  try {
    delete functions.isNullOrUndefined;
    delete functions.isArray;
    await loadTensorFlow(imports(["@tensorflow/tfjs-node-gpu"]));
    assert.equal([null, undefined, 0, ""].map(functions.isNullOrUndefined!), [
      true,
      true,
      false,
      false,
    ]);
    assert.equal([[], {}].map(functions.isArray!), [true, false]);
  } finally {
    Object.assign(functions, { isNullOrUndefined, isArray });
  }
});

test("the installed package computes and prints nothing", async () => {
  const printed: unknown[] = [];
  const { warn, log } = console;
  console.warn = console.log = (...values) => printed.push(values);
  try {
    const { tf } = await loadTensorFlow();
    const [sum] = tf.tidy(() => tf.sum(tf.tensor1d([1, 2, 3])).dataSync());
    assert.is(sum, 6);
  } finally {
    Object.assign(console, { warn, log });
  }
  assert.equal(printed, []);
});

test.run();
