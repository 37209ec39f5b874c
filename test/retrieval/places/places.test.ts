/** An index in a folder, and one in a store in memory. */

import { join, resolve } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { placeOf } from "../../../src/retrieval/places/place-of.ts";
import { storePlace } from "../../../src/retrieval/places/stores/store-place.ts";
import { memoryStore } from "../../support/memory-store.ts";
import { encode, header, makePassages, rejects, temporary } from "../support.ts";
import { placeConformance } from "./conformance.ts";

placeConformance(test, "folder", async () => {
  const folder = await temporary();
  return {
    open: () => placeOf(join(folder.path, "index")),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
});

placeConformance(test, "memory", async () => {
  const store = memoryStore();
  return {
    open: () => storePlace(store.address, async () => store, {}),
    async [Symbol.asyncDispose]() {},
  };
});

test("a folder estimates an index, labels passages, and tells when it changed", async () => {
  await using folder = await temporary();
  const place = placeOf(folder.path);
  const started = Date.now();
  const counts = { countTokens: () => 5, cutTokens: () => 0 };
  const forecast = await place.folder!.forecast(makePassages(32), { header, ...counts });
  assert.equal([forecast.passages, forecast.tokens, forecast.bits], [32, 160, 32]);
  await place.build(makePassages(3), { header, encode });
  const changed = Date.parse(await place.folder!.changeTime());
  assert.ok(changed >= started - 2_000 && changed <= Date.now() + 2_000);
  const labels = [{ from: "p1", id: "p9", document: "d" }];
  const encoded = async (): Promise<Float32Array[]> => assert.unreachable() as never;
  await place.add(undefined, { header, encode: encoded, labels, deleted: ["p1"] });
  await using index = await place.read();
  const [, { title, text }] = makePassages(3) as [unknown, { title: string; text: string }];
  assert.equal(await index.find("p9"), { id: "p9", title, text, document: "d" });
  assert.is(await index.find("p1"), undefined);
});

test("a store has no abilities of a folder, and refuses what it would not keep", async () => {
  const store = memoryStore();
  const place = storePlace("memory://me:secret@host/c", async () => store, {});
  assert.is(place.folder, undefined);
  assert.is(place.name, "memory://me@host/c");
  assert.throws(
    () => place.checkPassage({ id: "1", title: "", text: "\0" }, "passages"),
    /^passages: expected texts of Unicode/,
  );
  const states = { fingerprint: "lower", size: 8 };
  await rejects(
    place.build(makePassages(3), { header: { ...header, states }, encode }),
    /^memory:\/\/me@host\/c: expected no states for reading/,
  );
});

test("an address of no store is one line, whatever is done", async () => {
  const place = placeOf("mysql://me:secret@host/c");
  const expected =
    /^store: expected an address: postgres:\/\/\S+ or weaviate:\/\/\S+, got one of mysql:\/\/; /;
  for (const work of [
    () => place.find(),
    () => place.header(),
    () => place.info(),
    () => place.verify(),
    () => place.build([], { header, encode }),
    () => place.record(),
    () => place.exclusively(async () => {}),
  ])
    await rejects(work(), expected);
  await place[Symbol.asyncDispose]();
});

test("a relative folder begins where it is written; an address stays", () => {
  assert.is(placeOf("index").address, "index");
  assert.is(placeOf("index", { from: "project" }).address, resolve("project/index"));
  const address = "Postgres://me:secret@host/db/c";
  assert.is(placeOf(address, { from: "project" }).address, address);
  assert.is(placeOf(address).name, "Postgres://me@host/db/c");
  assert.ok(placeOf("C:\\index").folder);
});

test.run();
