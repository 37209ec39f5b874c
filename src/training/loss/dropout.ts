/**
 * Dropout that can be repeated: all randomness is fed from outside.
 *
 * Masks are rows of a pool of random masks that is made anew for every step; which of them each row of a tensor gets is
 * random too. So a forward pass can be run again with the same masks, which the gradient cache needs, and a random
 * number is drawn for each row of a tensor instead of for each number. Two rows share a mask once in `POOL_ROWS` pairs.
 */

import { createRandom } from "../../math/random.ts";
import type { Dim, Ops, Shape, Tensor } from "../../tensor/ops.ts";
import type { Graph, Signature, Tracer, Value } from "../../tensor/trace.ts";

const POOL_ROWS = 4096;
const POOL = "dropout.pool.";
const ROWS = "dropout.rows.";

/**
 * Dropout: `x` with a share `rate` of its numbers 0 and the others scaled by `1 / (1 - rate)`. `fed` gives the tensor that is
 * fed under a name: `dropoutPools` and `dropoutRows` make its numbers.
 */
export function fedDropout<T>(
  ops: Ops<T>,
  rate: number,
  fed: (name: string, signature: Signature) => T,
): (x: T) => T {
  let places = 0;
  if (rate === 0) return (x) => x;
  return (x) => {
    const leading = ops.shape(x).slice(0, -1);
    const width = ops.shape(x).at(-1)!;
    const pool = fed(`${POOL}${width}`, ["float32", POOL_ROWS, width]);
    const rows = fed(`${ROWS}${places++}`, ["int32", ...leading]);
    return ops.multiply(x, ops.gather(pool, rows));
  };
}

/** The dropout of a graph, fed as its inputs. */
export const tracedDropout = (tracer: Tracer, rate: number): ((x: Value) => Value) =>
  fedDropout(
    tracer,
    rate,
    (name, signature) => tracer.inputs.get(name) ?? tracer.input(name, signature),
  );

/** The pools of random masks that the dropout of `graph` draws from: the same for the same `key`. */
export function dropoutPools(
  graph: Graph,
  rate: number,
  key: readonly (number | string)[],
): Record<string, Tensor> {
  return tensorsNamed(graph, POOL, (name, shape) =>
    randomMasks(shape as readonly number[], rate, [name, ...key]),
  );
}

/** Sequences of tokens whose states stand in one tensor, [sequences, length, ...]. */
export interface Sequences {
  /** What each sequence is in the batch: the same in whatever chunk, and at whatever padding, it is computed. */
  readonly names: readonly string[];
  readonly length: number;
  /** Where a sequence is counted from, in both directions: its end if it is padded on the left, 0 if on the right. */
  readonly origin: number;
}

/**
 * Which mask each row of each tensor gets: the same for the same `key` and the same sequence.
 *
 * `sequences` are known by the name of their length in the graph's shapes. Where a tensor holds each sequence several times,
 * one copy beside the other, each copy has masks of its own; where it holds fewer than all, they count as the first.
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

/** As many sequences as there are rows. */
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
