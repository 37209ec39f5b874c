/** Loading of TensorFlow.js with installed, broken and missing packages. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import util from "node:util";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { InputError } from "../../../src/io/errors.ts";
import { loadTensorFlow } from "../../../src/tensor/tensorflow/load.ts";

const fake = (name: string, isUsingGpuDevice = false) => ({
  package: name,
  enableProdMode: () => {},
  ready: async () => {},
  backend: () => ({ isUsingGpuDevice }),
});

/** Imports a fake for each package in `working`; other packages are missing. */
function imports(working: readonly string[], asked: string[] = []) {
  return async (name: string) => {
    asked.push(name);
    if (!working.includes(name)) throw new Error(`Cannot find package '${name}'\nsecond line`);
    return { default: fake(name) };
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

test("a package whose import has no default, as under tsx, is used", async () => {
  const { tf } = await loadTensorFlow(async (name) => ({ default: undefined, ...fake(name) }));
  assert.is((tf as unknown as { package: string }).package, "@tensorflow/tfjs-node-gpu");
});

test("the device is named", async () => {
  const devices = async (name: string, gpu: boolean) =>
    (await loadTensorFlow(async (asked) => (asked === name ? fake(name, gpu) : {}))).device;
  assert.is(await devices("@tensorflow/tfjs-node-gpu", true), "GPU");
  assert.is(await devices("@tensorflow/tfjs-node-gpu", false), "CPU");
  assert.is(await devices("@tensorflow/tfjs-node", false), "CPU");
  assert.is(await devices("@tensorflow/tfjs", false), "JavaScript");
});

/** CommonJS packages that register kernels as tfjs-node does, in a registry that they share. */
function writePackages(folder: string): void {
  const register = `
    globalThis.kernels ??= new Set();
    for (const name of ["Add", "Sum"]) {
      if (kernels.has(name))
        console.warn(\`The kernel '\${name}' for backend 'tensorflow' is already registered\`);
      kernels.add(name);
    }
    Object.defineProperty(exports, "__esModule", { value: true });`;
  const packages = {
    "tfjs-node-gpu": `${register} throw new Error("The native addon can not be found. \\nRun");`,
    "tfjs-node": `${register} console.warn("another warning");
      exports.enableProdMode = () => {};
      exports.ready = async () => {};
      exports.backend = () => ({ isUsingGpuDevice: false });`,
  };
  for (const [name, code] of Object.entries(packages)) {
    const path = join(folder, "node_modules/@tensorflow", name);
    mkdirSync(path, { recursive: true });
    writeFileSync(join(path, "index.js"), code);
  }
}

test("without the library of tfjs-node-gpu, tfjs-node is used, and its kernels give no warning", async () => {
  const folder = mkdtempSync(join(tmpdir(), "reatt-tensorflow-"));
  writePackages(folder);
  const { resolve } = createRequire(join(folder, "index.js"));
  const printed: unknown[] = [];
  const { warn } = console;
  console.warn = (text) => printed.push(text);
  try {
    const { name, device, failures } = await loadTensorFlow((asked) => import(resolve(asked)));
    assert.equal([name, device], ["@tensorflow/tfjs-node", "CPU"]);
    assert.match(failures[0]!.message, /tfjs-node-gpu: The native addon can not be found$/);
  } finally {
    console.warn = warn;
    rmSync(folder, { recursive: true });
  }
  assert.equal(printed, ["another warning"]);
});

test("the functions of node:util that tfjs-node calls exist and are not deprecated", async () => {
  const functions = util as unknown as Record<string, ((value: unknown) => boolean) | undefined>;
  const { isNullOrUndefined, isArray } = functions;
  try {
    delete functions.isNullOrUndefined;
    functions.isArray = () => {
      throw new Error("prints a deprecation");
    };
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
