/** Tests that every place must pass: an index is used alike, wherever it is. */

import { EventEmitter, once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { Test } from "uvu";
import * as assert from "uvu/assert";
import type { InputError } from "../../../src/io/errors.ts";
import { OPEN_OPTIONS } from "../../../src/options/library-options.ts";
import { resolveOptions } from "../../../src/options/resolve.ts";
import type { OpenRequest, Place } from "../../../src/retrieval/places/place.ts";
import type { Passage } from "../../../src/text/passage.ts";
import { encode, encodeText, header, makePassages, withMetadata } from "../support.ts";

/** A place without an index, which the suite disposes of; each call of `open` is a new writer. */
export interface EmptyPlace extends AsyncDisposable {
  open(): Place;
}

const PASSAGES = withMetadata(makePassages(30));
const keys = { header, encode };
const opening: OpenRequest = { ...resolveOptions(OPEN_OPTIONS, { threads: 1 }) };

export function placeConformance(
  suite: Test,
  name: string,
  openEmpty: () => Promise<EmptyPlace>,
): void {
  const test = (what: string, run: (open: () => Place) => Promise<void>) =>
    suite(`${name}: ${what}`, async () => {
      await using empty = await openEmpty();
      await run(empty.open);
    });

  test("without an index, there is nothing to read", async (open) => {
    await using place = open();
    assert.is(await place.find(), undefined);
    assert.is(await place.record(), undefined);
    await place.checkReplaceable({ replace: false });
    for (const work of [
      () => place.header(),
      () => place.info(),
      () => place.verify(),
      () => place.delete(["p0"]),
      () => place.open(opening),
    ])
      await fails(work(), "ERR_REATT_NO_INDEX");
  });

  test("what is built is found, described and whole", async (open) => {
    await using place = open();
    const linked = { ...header, linkBase: "https://example.org/docs" };
    await place.build(PASSAGES, { header: linked, encode });
    assert.equal((await place.find())!.header, linked);
    assert.equal(await place.header(), linked);
    const { passages, tokens, bits, bytes, cut } = await place.info();
    const words = PASSAGES.reduce((sum, { text }) => sum + text.split(" ").length, 0);
    assert.equal(
      { passages, tokens, bits, cut },
      {
        passages: PASSAGES.length,
        tokens: words,
        bits: 32,
        cut: { passages: 0, tokens: 0 },
      },
    );
    assert.ok(bytes > 0);
    assert.equal(await place.verify(), []);
    await fails(place.checkReplaceable({ replace: false }), "ERR_REATT_INDEX_EXISTS");
    await place.checkReplaceable({ replace: true });
    await place.build(PASSAGES.slice(0, 3), { ...keys, replace: true });
    assert.equal(await contentsOf(place), sorted(PASSAGES.slice(0, 3)));
  });

  test("an open index searches, links, and moves on when it is told", async (open) => {
    await using place = open();
    const linked = { ...header, linkBase: "https://example.org/docs" };
    await place.build(PASSAGES, { header: linked, encode });
    await using index = await place.open({ ...opening, model: { fingerprint: "toy" } });
    const [passage] = PASSAGES as [Passage];
    const best = async () => (await index.search(encodeText("only here"), { topK: 1 }))[0]!.id;
    assert.is(index.linkOf({ id: "a b" }), "https://example.org/docs/a%20b");
    await using elsewhere = await place.open({ ...opening, linkBase: "https://example.org/now" });
    assert.is(elsewhere.linkOf({ id: "a b" }), "https://example.org/now/a%20b");
    const other = { ...opening, model: { fingerprint: "other" } };
    await fails(place.open(other), "ERR_REATT_OTHER_MODEL");
    await place.add([{ ...passage, id: "new", text: "only here" }], keys);
    assert.is(index.passageCount, PASSAGES.length);
    assert.is(await index.refresh(), true);
    assert.is(await index.refresh(), false);
    assert.is(await best(), "new");
    assert.is(index.passageCount, PASSAGES.length + 1);
  });

  test("additions replace, deletions count, and each is another generation", async (open) => {
    await using place = open();
    await place.build(PASSAGES, keys);
    const generations = [(await place.find())!.generation];
    const [first, second, ...others] = PASSAGES as [Passage, Passage, ...Passage[]];
    const changed = { ...first, text: "w1 w99" };
    await place.add([changed], { ...keys, deleted: [second.id, "unknown"] });
    generations.push((await place.find())!.generation);
    assert.equal(await contentsOf(place), sorted([changed, ...others]));
    await place.add(undefined, { ...keys, deleted: [first.id] });
    generations.push((await place.find())!.generation);
    assert.is(await place.delete([others[0]!.id, others[0]!.id, "unknown"]), 1);
    generations.push((await place.find())!.generation);
    assert.is(new Set(generations).size, generations.length);
    assert.equal(await contentsOf(place), sorted(others.slice(1)));
    assert.equal(await place.verify(), []);
    assert.is((await place.info()).passages, others.length - 1);
    const another = { ...header, fingerprint: "other" };
    await fails(place.add(PASSAGES, { header: another, encode }), "ERR_REATT_BAD_INPUT");
  });

  test("a record is kept with the index, and belongs to no writer", async (open) => {
    await using place = open();
    await place.build(PASSAGES, keys);
    await place.writeRecord("one");
    await place.writeRecord('{"größe": 2}\n');
    await place.add([PASSAGES[0]!], keys);
    await using later = open();
    assert.is(await later.record(), '{"größe": 2}\n');
  });

  test("of two synchronisations, the earlier one changes nothing after the later", async (open) => {
    await using first = open();
    await using second = open();
    await first.build(PASSAGES, keys);
    const changes: string[] = [];
    const change = async (name: string, place: Place, id: string): Promise<void> => {
      assert.is(await place.delete([id]), 1);
      changes.push(name);
    };
    const begun = new EventEmitter();
    const later = once(begun, "begun").then(() =>
      second.exclusively(() => change("second", second, "p1")),
    );
    const earlier = first.exclusively(async () => {
      await change("first", first, "p0");
      begun.emit("begun");
      await Promise.race([later, sleep(500)]); // in a folder, it waits for its turn
      await change("first", first, "p2");
    });
    const error = await earlier.catch((reason: InputError) => reason);
    await later;
    if (error) assert.is(error.code, "ERR_REATT_BUSY", error.message);
    assert.equal(changes, error ? ["first", "second"] : ["first", "first", "second"]);
    const broken = first.exclusively(() => Promise.reject(new Error("the work failed")));
    await fails(broken, undefined);
    await second.exclusively(() => change("second", second, "p3"));
  });
}

/** The passages of a place by id, read one by one. */
async function contentsOf(place: Place): Promise<(Passage | undefined)[]> {
  await using index = await place.read();
  const ids: string[] = [];
  for await (const { id } of index.passages()) ids.push(id);
  assert.is(await index.find("unknown"), undefined);
  return await Promise.all(ids.sort().map((id) => index.find(id)));
}

const sorted = (passages: readonly Passage[]): Passage[] =>
  [...passages].sort((a, b) => (a.id < b.id ? -1 : 1));

async function fails(work: Promise<unknown>, code: InputError["code"] | undefined): Promise<void> {
  const error = await work.then(
    () => assert.unreachable(),
    (reason: InputError) => reason,
  );
  assert.is((error as InputError).code, code, (error as Error).message);
}
