import { test } from "uvu";
import * as assert from "uvu/assert";
import type { InputError } from "../../src/io/errors.ts";
import { importPassages } from "../../src/retrieval/places/stores/import.ts";
import { storeTarget, syncStore } from "../../src/sync/store-target.ts";
import { encode, header, makePassages, rejects } from "../retrieval/support.ts";
import { memoryStore } from "../support/memory-store.ts";

const importing = { header, encode, bits: undefined, isImport: false };

test("of two synchronisations, the one that began first changes nothing more", async () => {
  const shared = memoryStore();
  await importPassages(shared, makePassages(3), importing);
  const [first, second] = [syncStore(shared), syncStore(shared)];
  await storeTarget(first).exclusively(async () => {
    await first.delete(["p0"]);
    await storeTarget(second).exclusively(() => second.delete(["p1"]));
    const busy = (error: InputError) => error.code === "ERR_REATT_BUSY";
    for (const change of [
      () => first.delete(["p2"]),
      () => importPassages(first, makePassages(5), importing),
      () => storeTarget(first).writeRecord({} as never),
    ])
      await change().then(
        () => assert.unreachable(),
        (error: InputError) => assert.ok(busy(error), error.message),
      );
  });
  assert.is((await shared.statistics()).passages, 1);
  await storeTarget(second).exclusively(() => second.delete(["p2"]));
});

test("two that both create the collection are kept apart from then on", async () => {
  const shared = memoryStore();
  const [first, second] = [syncStore(shared), syncStore(shared)];
  await first.begin();
  await second.begin();
  await importPassages(first, makePassages(3), importing);
  await rejects(importPassages(second, makePassages(5), importing), /another one that began later/);
  assert.is((await shared.statistics()).passages, 3);
});

test.run();
