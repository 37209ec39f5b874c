import fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { gather, isContiguous, storageSpan } from "../../src/checkpoints/strides.ts";

/** Every index of a shape, the last axis fastest. */
function indices(shape: readonly number[]): number[][] {
  const [size, ...others] = shape;
  if (size === undefined) return [[]];
  return Array.from({ length: size }, (_, i) => indices(others).map((rest) => [i, ...rest])).flat();
}

const anyView = fc.array(fc.record({ size: fc.integer({ min: 1, max: 4 }), stride: fc.nat(9) }), {
  maxLength: 4,
});

test("gather equals a naive loop", () => {
  const property = fc.property(anyView, (axes) => {
    const shape = axes.map(({ size }) => size);
    const strides = axes.map(({ stride }) => stride);
    const positions = indices(shape).map((index) =>
      index.reduce((sum, i, axis) => sum + i * strides[axis]!, 0),
    );
    const span = storageSpan(shape, strides);
    assert.is(span, Math.max(...positions) + 1);
    const numbers = Float32Array.from({ length: span }, (_, i) => i);
    assert.equal([...gather(numbers, shape, strides)], positions);
    assert.is(
      isContiguous(shape, strides),
      positions.every((position, i) => position === i),
    );
  });
  fc.assert(property, { numRuns: 1_000 });
});

test.run();
