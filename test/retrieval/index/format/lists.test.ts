import * as fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { encodeList, encodeLists } from "../../../../src/retrieval/index/format/lists.ts";

/** The ordinals of a list, with numbers as digits of base 128. */
function decode(encoded: Uint8Array): number[] {
  const ordinals: number[] = [];
  let [difference, unit] = [0, 1];
  for (const byte of encoded) {
    difference += (byte % 128) * unit;
    unit *= 128;
    if (byte >= 128) continue;
    ordinals.push((ordinals.at(-1) ?? -1) + difference);
    [difference, unit] = [0, 1];
  }
  return ordinals;
}

test("decoded lists equal the input, whatever the pieces", () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(fc.nat(5), { minLength: 1, maxLength: 4 }), {
        minLength: 1,
        maxLength: 300,
      }),
      fc.integer({ min: 1, max: 50 }),
      async (passages, size) => {
        async function* pieces() {
          for (let first = 0; first < passages.length; first += size) {
            const part = passages.slice(first, first + size);
            yield { first, centroids: part.map((tokens) => Uint32Array.from(tokens)) };
          }
        }
        let centroid = 0;
        for await (const bytes of encodeLists(6, pieces)) {
          const expected = passages.flatMap((tokens, p) => (tokens.includes(centroid) ? [p] : []));
          assert.equal(decode(bytes), expected);
          centroid++;
        }
        assert.is(centroid, 6);
      },
    ),
    { numRuns: 50 },
  ));

test("a list of distant ordinals takes several bytes each", () => {
  const ordinals = [0, 1, 127, 300, 20_000_000];
  const encoded = encodeList(Uint32Array.from(ordinals));
  assert.is(encoded.length, 3 + 2 + 4);
  assert.equal(decode(encoded), ordinals);
});

test.run();
