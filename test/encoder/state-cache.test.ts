/** States of passages are computed once, within a number of bytes, and answers stay equal. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { StateCache } from "../../src/encoder/state-cache.ts";
import { ReAtt } from "../../src/reatt.ts";

/** Two values for each token, and the sequences that were computed. */
function encoder() {
  const computed: string[] = [];
  const encode = async (sequences: readonly (readonly number[])[]) =>
    sequences.map((ids) => {
      computed.push(ids.join(" "));
      return Float32Array.from(ids.flatMap((id) => [id, -id]));
    });
  return { computed, encode };
}

test("only unknown sequences are computed, and the order stays", async () => {
  const cache = new StateCache();
  const { computed, encode } = encoder();
  await cache.statesOf([[1, 2], [3]], encode);
  const states = await cache.statesOf([[4], [1, 2], [5], [3]], encode);
  assert.equal(computed, ["1 2", "3", "4", "5"]);
  assert.equal(
    states.map((values) => [...values]),
    [
      [4, -4],
      [1, -1, 2, -2],
      [5, -5],
      [3, -3],
    ],
  );
  assert.is(cache.bytes, 4 * 2 * 5);
});

test("the least recently used states leave first", async () => {
  const cache = new StateCache(4 * 2 * 3);
  const { computed, encode } = encoder();
  for (const id of [1, 2, 3, 1, 4]) await cache.statesOf([[id]], encode);
  assert.is(cache.bytes, 24);
  computed.length = 0;
  for (const id of [1, 3, 4, 2]) await cache.statesOf([[id]], encode);
  assert.equal(computed, ["2"]);
  const large = Array.from({ length: 10 }, (_, i) => i);
  assert.is((await cache.statesOf([large], encode))[0]!.length, 20);
  assert.is(cache.bytes, 0);
});

test("stored states are unpacked once, and apart from encoded ones", async () => {
  const cache = new StateCache();
  const { computed, encode } = encoder();
  let unpacked = 0;
  const stored = (tokens: number) => ({
    tokens,
    unpack: () => new Float32Array(2 * tokens).fill(++unpacked),
  });
  const read = async (given?: (ReturnType<typeof stored> | undefined)[]) =>
    (await cache.statesOf([[1, 2], [3]], encode, given)).map((states) => [...states]);
  const encoded = [
    [1, -1, 2, -2],
    [3, -3],
  ];
  assert.equal(await read([stored(2)]), [[1, 1, 1, 1], encoded[1]]);
  assert.equal(await read([stored(2), stored(1)]), [
    [1, 1, 1, 1],
    [2, 2],
  ]);
  assert.equal(await read(), encoded);
  assert.equal(await read([stored(3), undefined]), encoded); // of a passage that is cut
  assert.equal([unpacked, computed], [2, ["3", "1 2"]]);
});

test("a second reading of the same passages gives the same answer", async () => {
  await using model = await ReAtt.load("models/reatt-mini");
  const watt = { id: "watt", title: "Steam engine", text: "In 1781 James Watt patented one." };
  const rhine = { id: "rhine", title: "Rhine", text: "The Rhine flows to the North Sea." };
  const ask = async (passages: (typeof watt)[]) => {
    const reply = await model.read("Who patented a steam engine in 1781?", passages);
    return [reply.answer, reply.tokenIds, reply.passages.map(({ attention }) => attention)];
  };
  const first = await ask([watt, rhine]);
  assert.equal(await ask([watt, rhine]), first);
  const [answer, tokens] = await ask([rhine, watt]);
  assert.equal([answer, tokens], first.slice(0, 2));
});

test.run();
