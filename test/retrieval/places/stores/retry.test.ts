/** How long a store that is away is waited for. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { InputError } from "../../../../src/io/errors.ts";
import { retrying } from "../../../../src/retrieval/places/stores/retry.ts";
import type { Store } from "../../../../src/retrieval/places/stores/store.ts";

const PAUSES = [1, 1, 1, 1, 1];

/** The store, and how often it was asked. `answers` says which calls it answers. */
function storeThat(answers: (call: number) => boolean, code = "ERR_REATT_STORE_AWAY") {
  const calls = { count: 0 };
  const away = {
    where: "store",
    expected: "a server that answers",
    got: "none",
    remedy: "start it",
  };
  const statistics = async () => {
    if (answers(calls.count++)) return { passages: 1 };
    throw new InputError({ ...away, code: code as "ERR_REATT_STORE_AWAY" });
  };
  return { store: { statistics } as unknown as Store, calls };
}

const failure = (work: Promise<unknown>): Promise<string> => work.then(() => "answered", String);

test("a store that has answered is waited for", async () => {
  const { store, calls } = storeThat((call) => call === 0 || call === 6);
  const patient = retrying(store, PAUSES);
  await patient.statistics();
  assert.equal(await patient.statistics(), { passages: 1 });
  assert.is(calls.count, 7);
});

test("the error comes after the last pause", async () => {
  const { store, calls } = storeThat((call) => call === 0);
  const patient = retrying(store, PAUSES);
  await patient.statistics();
  assert.match(await failure(patient.statistics()), /a server that answers, got none/);
  assert.is(calls.count, 7);
});

test("one that never answered has the pauses of a search: its address may be wrong", async () => {
  const { store, calls } = storeThat(() => false);
  assert.match(await failure(retrying(store, PAUSES).statistics()), /got none; start it/);
  assert.is(calls.count, 3);
  assert.match(await failure(retrying(store, []).statistics()), /got none/);
  assert.is(calls.count, 4);
});

test("another error is not repeated", async () => {
  const { store, calls } = storeThat(() => false, "ERR_REATT_BAD_OPTION");
  assert.match(await failure(retrying(store, PAUSES).statistics()), /got none/);
  assert.is(calls.count, 1);
});

test.run();
