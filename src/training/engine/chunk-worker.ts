/** The program of a thread that computes chunks. workers.ts starts it and sends it requests. */

import { parentPort, workerData } from "node:worker_threads";
import { openGraphRunner } from "./graph-runner.ts";
import type { WorkerData, WorkerReply, WorkerRequest } from "./workers.ts";

const { fixed, trained, values, gradients } = workerData as WorkerData;

// onnxruntime does not take shared memory, so this thread has a copy of everything.
const parameters = new Map([
  ...[...fixed].map(([name, { shape, value }]) => {
    return [name, { shape, value, gradient: new Float32Array() }] as const;
  }),
  ...trained.map(({ name, shape, first, length }) => {
    const state = { value: new Float32Array(length), gradient: new Float32Array(length) };
    return [name, { shape, first, ...state }] as const;
  }),
]);
const runner = openGraphRunner(parameters, { threads: 1 });

async function reply(request: WorkerRequest): Promise<WorkerReply> {
  switch (request.type) {
    case "begin":
      for (const { name, first, length } of trained) {
        parameters.get(name)!.value.set(values.subarray(first, first + length));
        parameters.get(name)!.gradient.fill(0);
      }
      return {};
    case "run": {
      const { name, graph, tensors } = request;
      return { tensors: await runner.run(name, () => graph!, tensors) };
    }
    case "end":
      for (const { name, first } of trained) gradients.set(parameters.get(name)!.gradient, first);
      return {};
  }
}

parentPort!.on("message", async (request: WorkerRequest) => {
  const answer = await reply(request).catch(
    (error: unknown): WorkerReply => ({
      error: error instanceof Error ? error.message : String(error),
    }),
  );
  parentPort!.postMessage(answer);
});
