import * as fc from "fast-check";
import { test } from "uvu";
import * as assert from "uvu/assert";
import {
  decodeLists,
  encodeList,
  encodeLists,
} from "../../../../src/retrieval/index/format/lists.ts";

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
          assert.equal([...decodeLists([bytes], [0])], expected);
          centroid++;
        }
        assert.is(centroid, 6);
      },
    ),
    { numRuns: 50 },
  ));

test("a list of distant ordinals takes several bytes each", () => {
  const ordinals = Uint32Array.of(0, 1, 127, 300, 20_000_000);
  assert.equal(decodeLists([encodeList(ordinals)], [0]), ordinals);
});

test("lists of several segments count from the first ordinal of each", () => {
  const lists = [Uint32Array.of(0, 3), new Uint32Array(), Uint32Array.of(0, 200)].map(encodeList);
  assert.equal(decodeLists(lists, [0, 4, 1000]), Uint32Array.of(0, 3, 1000, 1200));
});

test.run();
