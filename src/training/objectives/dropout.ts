/**
 * Dropout that can be repeated exactly. All random values are inputs of the graph.
 *
 * Each training step draws a pool of random mask rows. Each row of a tensor then gets a random row
 * of the pool. The gradient cache needs this, because it runs the same forward pass twice with the
 * same masks. The method takes one random number for each row of a tensor, not one for each value.
 * Two rows of a tensor share a mask with probability 1 / POOL_ROWS.
 */

import { createRandom } from "../../math/random.ts";
import type { Dim, Ops, Shape, Tensor } from "../../tensor/ops.ts";
import type { Graph, Signature, Tracer, Value } from "../../tensor/trace.ts";

const POOL_ROWS = 4096;
const POOL = "dropout.pool.";
const ROWS = "dropout.rows.";

/**
 * Sets a share `rate` of the values of `x` to 0 and multiplies the others by `1 / (1 - rate)`.
 *
 * `fed` returns the input tensor of a name. `dropoutPools` and `dropoutRows` compute its values.
 */
export function fedDropout<T>(
  ops: Ops<T>,
  rate: number,
  fed: (name: string, signature: Signature) => T,
): (x: T) => T {
  let calls = 0;
  if (rate === 0) return (x) => x;
  return (x) => {
    const leading = ops.shape(x).slice(0, -1);
    const width = ops.shape(x).at(-1)!;
    const pool = fed(`${POOL}${width}`, ["float32", POOL_ROWS, width]);
    const rows = fed(`${ROWS}${calls++}`, ["int32", ...leading]);
    return ops.multiply(x, ops.gather(pool, rows));
  };
}

/** Dropout of a traced graph. The graph gets the inputs that it needs. */
export const tracedDropout = (tracer: Tracer, rate: number): ((x: Value) => Value) =>
  fedDropout(
    tracer,
    rate,
    (name, signature) => tracer.inputs.get(name) ?? tracer.input(name, signature),
  );

/** The pools of mask rows that the dropout of `graph` takes as inputs. `key` determines them. */
export function dropoutPools(
  graph: Graph,
  rate: number,
  key: readonly (number | string)[],
): Record<string, Tensor> {
  return tensorsNamed(graph, POOL, (name, shape) =>
    randomMasks(shape as readonly number[], rate, [name, ...key]),
  );
}

/** Token sequences whose states are in one tensor [sequences, length, ...]. */
export interface Sequences {
  /** Identify the sequences in the batch, independent of the chunk and the padding. */
  readonly names: readonly string[];
  readonly length: number;
  /**
   * The position that random rows are drawn from, in both directions. A sequence then keeps its
   * masks at any padding: 0 for padding on the right, the length for padding on the left, and n for
   * a question that is padded on the left and followed by a passage.
   */
  readonly origin: number;
}

/**
 * The mask row of each row of each tensor. `key` and the sequence determine it.
 *
 * The keys of `sequences` are the names of sequence lengths in the graph's shapes. A tensor with
 * several copies of each sequence side by side gets different masks for each copy. A tensor with
 * fewer rows than sequences holds the first ones.
 */
export function dropoutRows(
  graph: Graph,
  sequences: Readonly<Record<string, Sequences>>,
  key: readonly (number | string)[],
): Record<string, Tensor> {
  return tensorsNamed(graph, ROWS, (name, [rows, length]) =>
    randomRows(copied(sequences[length!]!, rows!), [name, ...key]),
  );
}

/** The sequences of a tensor with this number of rows. */
function copied({ names, ...rest }: Sequences, rows: Dim): Sequences {
  const copies = typeof rows === "number" ? rows / names.length : 1;
  if (copies <= 1) return { names: names.slice(0, copies * names.length), ...rest };
  return {
    names: names.flatMap((name) => Array.from({ length: copies }, (_, i) => `${name} ${i}`)),
    ...rest,
  };
}

function tensorsNamed(
  graph: Graph,
  prefix: string,
  make: (name: string, shape: Shape) => Tensor,
): Record<string, Tensor> {
  const inputs = [...graph.inputs].filter(([name]) => name.startsWith(prefix));
  return Object.fromEntries(inputs.map(([name, { shape }]) => [name, make(name, shape)]));
}

function randomMasks(
  shape: readonly number[],
  rate: number,
  [name, ...key]: readonly (number | string)[],
): Tensor {
  const random = createRandom(name!, ...key);
  const kept = 1 / (1 - rate);
  const threshold = rate * 2 ** 32;
  const data = new Float32Array(shape.reduce((product, size) => product * size, 1));
  for (let i = 0; i < data.length; i++) data[i] = random.uint32() < threshold ? 0 : kept;
  return { data, shape };
}

function randomRows(
  { names, length, origin }: Sequences,
  [name, ...key]: readonly (number | string)[],
): Tensor {
  const data = new Int32Array(names.length * length);
  names.forEach((sequence, row) => {
    const forwards = createRandom(name!, ...key, sequence, "forwards");
    const backwards = createRandom(name!, ...key, sequence, "backwards");
    for (let i = origin; i < length; i++) data[row * length + i] = forwards.uint32() % POOL_ROWS;
    for (let i = origin - 1; i >= 0; i--) data[row * length + i] = backwards.uint32() % POOL_ROWS;
  });
  return { data, shape: [names.length, length] };
}
