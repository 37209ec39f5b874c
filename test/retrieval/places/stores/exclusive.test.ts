import { test } from "uvu";
import * as assert from "uvu/assert";
import type { InputError } from "../../../../src/io/errors.ts";
import { importPassages } from "../../../../src/retrieval/places/stores/import.ts";
import type { Store } from "../../../../src/retrieval/places/stores/store.ts";
import { storePlace } from "../../../../src/retrieval/places/stores/store-place.ts";
import { memoryStore } from "../../../support/memory-store.ts";
import { encode, header, makePassages, rejects } from "../../support.ts";

const keys = { header, encode };
const placeIn = (store: Store) => storePlace(store.address, async () => store, {});

test("of two synchronisations, the one that began first changes nothing more", async () => {
  const shared = memoryStore();
  await importPassages(shared, makePassages(3), { ...keys, bits: undefined, isImport: false });
  const [first, second] = [placeIn(shared), placeIn(shared)];
  await first.exclusively(async () => {
    await first.delete(["p0"]);
    await second.exclusively(() => second.delete(["p1"]));
    const busy = (error: InputError) => error.code === "ERR_REATT_BUSY";
    for (const change of [
      () => first.delete(["p2"]),
      () => first.add(makePassages(5), keys),
      () => first.writeRecord("{}"),
    ])
      await change().then(
        () => assert.unreachable(),
        (error: InputError) => assert.ok(busy(error), error.message),
      );
  });
  assert.is((await shared.statistics()).passages, 1);
  await second.exclusively(() => second.delete(["p2"]));
});

test("two that both create the collection are kept apart from then on", async () => {
  const shared = memoryStore();
  const [first, second] = [placeIn(shared), placeIn(shared)];
  await first.exclusively(() =>
    second.exclusively(async () => {
      await first.build(makePassages(3), keys);
      await rejects(second.build(makePassages(5), keys), /another one that began later/);
    }),
  );
  assert.is((await shared.statistics()).passages, 3);
});

test.run();
