/** Random conditions on metadata. */

import fc from "fast-check";
import type { Where } from "../../../../src/retrieval/where/where.ts";

interface Operands {
  readonly value: fc.Arbitrary<string | number | boolean>;
  /** Of comparisons. */
  readonly ordered: fc.Arbitrary<string | number>;
  /** Of `contains`. */
  readonly part: fc.Arbitrary<string>;
}

/** Conditions with all operators on the named fields, also inside of each other. */
export function conditionsOn(
  names: readonly string[],
  { value, ordered, part }: Operands,
): fc.Arbitrary<Where> {
  const field = fc.oneof(
    value,
    fc.record({ eq: value }),
    fc.record({ ne: value }),
    fc.record({ in: fc.array(value, { maxLength: 3 }) }),
    fc.record({ contains: part }),
    fc.record({ gt: ordered, lte: ordered }),
    fc.record({ gte: ordered }),
    fc.record({ lt: ordered }),
    fc.record({ exists: fc.boolean() }),
  );
  const size = { minKeys: 1, maxKeys: 2 };
  return fc.letrec<{ where: Where }>((tie) => ({
    where: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      fc.dictionary(fc.constantFrom(...names), field, size) as fc.Arbitrary<Where>,
      fc.record({ not: tie("where") }) as fc.Arbitrary<Where>,
      fc.record({ and: fc.array(tie("where"), { maxLength: 2 }) }) as fc.Arbitrary<Where>,
      fc.record({ or: fc.array(tie("where"), { maxLength: 2 }) }) as fc.Arbitrary<Where>,
    ),
  })).where;
}
