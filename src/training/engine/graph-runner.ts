/** Compiled graphs that compute with the parameters of a run. */

import type { Tensor } from "../../tensor/ops.ts";
import { type CompileOptions, compile, type Session } from "../../tensor/session.ts";
import type { Graph } from "../../tensor/trace.ts";
import type { Tensors } from "../gradient-cache/passes.ts";
import type { ParameterState } from "./optimizer.ts";

export interface GraphRunner extends AsyncDisposable {
  /** Runs the graph of this name, which `build` traces at the first run. */
  run(name: string, build: () => Graph, tensors: Tensors): Promise<Tensors>;
}

/** The parameters of a graph: values, and the sums of gradients. */
export type GraphParameters = ReadonlyMap<
  string,
  Pick<ParameterState, "shape" | "value" | "gradient">
>;

/** Graphs take parameters by name, and sums of gradients as `sum:NAME`, which they overwrite. */
export function openGraphRunner(parameters: GraphParameters, options: CompileOptions): GraphRunner {
  const state = stateTensors(parameters);
  const sessions = new Map<string, Promise<{ graph: Graph; session: Session }>>();
  const compileOnce = (name: string, build: () => Graph) => {
    const known = sessions.get(name);
    if (known) return known;
    const graph = build();
    // Steps have many lengths: with planned blocks, memory grew with each of them.
    const compiled = compile(graph, { ...options, memoryPattern: false }).then((session) => ({
      graph,
      session,
    }));
    sessions.set(name, compiled);
    return compiled;
  };
  return {
    async run(name, build, tensors) {
      const { graph, session } = await compileOnce(name, build);
      const names = [...graph.inputs.keys(), ...graph.parameters.keys()];
      const feeds = names.map((input) => [input, tensors[input] ?? state[input]!]);
      return session.run(Object.fromEntries(feeds), [...graph.outputs.keys()], state);
    },
    async [Symbol.asyncDispose]() {
      for (const { session } of await Promise.all(sessions.values()))
        await session[Symbol.asyncDispose]();
    },
  };
}

/** The values of parameters by name, and the sums of their gradients as `sum:NAME`. */
function stateTensors(parameters: GraphParameters): Tensors {
  const tensors: Record<string, Tensor> = {};
  for (const [name, { shape, value, gradient }] of parameters) {
    tensors[name] = { data: value, shape };
    tensors[`sum:${name}`] = { data: gradient, shape };
  }
  return tensors;
}
