import { test } from "uvu";
import * as assert from "uvu/assert";
import type { Codebook } from "../../../src/retrieval/codec/codec.ts";
import { openKeyDecoder } from "../../../src/retrieval/codec/key-decoder.ts";
import type { CompressedStore } from "../../../src/retrieval/index/format/compressed-store.ts";
import { encodeList } from "../../../src/retrieval/index/format/lists.ts";
import { openCentroidSearch } from "../../../src/retrieval/search/centroid-search.ts";
import { copyTo, listed, naiveSearch, noise } from "../support.ts";

const DIMENSION = 8;
const PASSAGES = 2000;
const TOKENS = 3;
const HITS = 40;
/** Passages that are scored exactly: their codes are read again. */
const RESCORED = 60;

/** A byte for each dimension, with codewords of `width` times a random number. */
function randomCodebook(centroids: number, width: number): Codebook {
  return {
    bits: 8,
    dimension: DIMENSION,
    rotation: new Float32Array(DIMENSION ** 2),
    centroids: noise(centroids * DIMENSION, 1),
    subquantisers: new Uint16Array(centroids).fill(DIMENSION),
    codewords: new Map([[DIMENSION, noise(256 * DIMENSION, 2).map((value) => width * value)]]),
    ratios: new Float32Array(256).fill(1),
  };
}

/** Passages of random keys in memory. `read` counts the passages whose codes were read. */
function randomStore(codebook: Codebook): CompressedStore & { read: number } {
  const centroids = codebook.subquantisers.length;
  const random = noise(PASSAGES * TOKENS * (DIMENSION + 1), 3).map((value) => Math.abs(value));
  let at = 0;
  const below = (end: number): number => Math.floor(random[at++]! * 1e6) % end;
  const code = (): number[] => {
    const residual = Array.from({ length: DIMENSION }, () => below(256));
    return [below(centroids), 0, 0, ...residual];
  };
  const codes = Array.from({ length: PASSAGES }, () =>
    Uint8Array.from(Array.from({ length: TOKENS }, code).flat()),
  );
  const lists = Array.from({ length: centroids }, (_, centroid) =>
    encodeList(
      Uint32Array.from(codes.keys()).filter((p) =>
        codes[p]!.some((byte, i) => i % (DIMENSION + 3) === 0 && byte === centroid),
      ),
    ),
  );
  const decode = openKeyDecoder(codebook);
  return {
    read: 0,
    dimension: DIMENSION,
    ordinalCount: PASSAGES,
    longestKey: 100,
    decode,
    keys: async (ordinal) => decode(codes[ordinal]!),
    async codes(ordinals, allocate) {
      this.read += ordinals.length;
      return copyTo(
        allocate,
        Array.from(ordinals, (ordinal) => codes[ordinal]!),
      );
    },
    async lists(wanted, allocate) {
      const ranges = copyTo(
        allocate,
        Array.from(wanted, (centroid) => lists[centroid]!),
      );
      return [{ path: "lists.bin", base: 0, passages: PASSAGES, ranges }];
    },
  };
}

const QUESTION = noise(4 * DIMENSION, 4);
const REQUEST = { topK: HITS, accept: () => true };

async function openSearch(centroids: number, width: number) {
  const codebook = randomCodebook(centroids, width);
  const store = randomStore(codebook);
  const options = { nprobe: centroids, candidatesPerHit: PASSAGES / HITS };
  return { store, engine: await openCentroidSearch(store, codebook, options) };
}

async function searched(centroids: number, width: number) {
  const { store, engine } = await openSearch(centroids, width);
  await using _ = engine;
  const [hits] = await engine.search([QUESTION], REQUEST);
  const keys = await Promise.all(Array.from({ length: PASSAGES }, (_, p) => store.keys(p)));
  const naive = naiveSearch(QUESTION, keys, HITS, DIMENSION);
  const expected = naive.map(({ ordinal }) => ordinal);
  return { found: [...hits!.ordinals], naive: expected, read: store.read };
}

test("estimates that rank well end the search after two rounds", async () => {
  const { found, naive, read } = await searched(200, 1e-3);
  assert.equal(found, naive);
  const rounds = read - RESCORED;
  assert.ok(rounds >= PASSAGES / 4 && rounds <= PASSAGES / 4 + 3, `${read}`); // equal estimates
});

test("estimates that say nothing leave all candidates to be scored", async () => {
  const { found, naive, read } = await searched(1, 1);
  assert.equal(found, naive);
  assert.is(read, PASSAGES + RESCORED);
});

test("a ranking has exact scores of given passages too, each passage once", async () => {
  const { store, engine } = await openSearch(200, 1e-3);
  await using _ = engine;
  const keys = await Promise.all(Array.from({ length: PASSAGES }, (_, p) => store.keys(p)));
  const all = naiveSearch(QUESTION, keys, PASSAGES, DIMENSION);
  const worst = all.slice(-3).map(({ ordinal }) => ordinal);
  const also = Uint32Array.of(worst[1]!, all[0]!.ordinal, worst[2]!, worst[0]!);
  const [found, none] = await engine.searchAlso(
    [QUESTION, QUESTION],
    [also, Uint32Array.of()],
    REQUEST,
  );
  assert.equal(listed(found!), [...all.slice(0, HITS), ...all.slice(-3)]);
  assert.equal(listed(none!), all.slice(0, HITS));
});

test("others use the process during a search, also if all codes are in memory", async () => {
  const { store, engine } = await openSearch(1, 1);
  await using _ = engine;
  let turn = 0; // of the event loop
  const count = (): void => {
    turn++;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  const turns = new Set<number>();
  const codes = store.codes.bind(store);
  store.codes = (...given) => {
    turns.add(turn);
    return codes(...given);
  };
  await engine.search([QUESTION], REQUEST);
  clearImmediate(next);
  assert.ok(turns.size > PASSAGES / 256, `${turns.size}`); // passages of a batch
});

test.run();
