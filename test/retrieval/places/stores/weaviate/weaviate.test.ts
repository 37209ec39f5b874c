import { setTimeout as sleep } from "node:timers/promises";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { InputError } from "../../../../../src/io/errors.ts";
import { deletePassages, indexInfo, verifyIndex } from "../../../../../src/retrieval/maintain.ts";
import { openIndex } from "../../../../../src/retrieval/open-index.ts";
import { connectStore, placeOf } from "../../../../../src/retrieval/places/place-of.ts";
import { importPassages } from "../../../../../src/retrieval/places/stores/import.ts";
import {
  API_KEY,
  openWeaviateServers,
  READER_KEY,
  type WeaviateServers,
} from "../../../../support/weaviate-servers.ts";
import { encodeText, makePassages, rejects } from "../../../support.ts";
import { placeConformance } from "../../conformance.ts";
import { storeConformance } from "../conformance.ts";
import { importedInto, importing, type StoreServer, storeUse } from "../use.ts";

const opened = await openWeaviateServers(1);
if (typeof opened === "string") {
  console.log(`skipped: Weaviate: ${opened}`);
  test.skip("Weaviate");
} else weaviateTests(opened);

function weaviateTests(servers: WeaviateServers): void {
  process.env.WEAVIATE_API_KEY = API_KEY;
  test.after(async () => {
    await servers[Symbol.asyncDispose]();
  });
  let collections = 0;
  const server: StoreServer = {
    address: () => servers.address(`c${++collections}`),
    kill: () => servers.nodes[0]!.kill(),
    start: () => servers.nodes[0]!.start(),
  };
  /** The name in Weaviate. */
  const classOf = (place: string): string => new URL(place).pathname.slice(1).replace("c", "C");

  storeConformance(test, "Weaviate", () => connectStore(server.address()));
  storeUse(test, "Weaviate", server);
  placeConformance(test, "Weaviate", async () => {
    const at = server.address();
    return { open: () => placeOf(at), async [Symbol.asyncDispose]() {} };
  });

  test("verify names what someone has changed, and counts follow", async () => {
    const place = await importedInto(server, 50);
    const name = classOf(place);
    const { generateUuid5 } = await import("weaviate-client");
    const object = (id: string) => `/objects/${name}/${generateUuid5(id)}`;
    const change = (id: string, properties: object) =>
      servers.rest("PATCH", object(id), { class: name, properties });
    await change("p1", { text: "changed" });
    await change("p2", { codes: "AAAA" });
    await servers.rest("DELETE", object("p3"));
    const damages = await verifyIndex(place);
    assert.equal(damages.map(({ path, problem }) => [path.split(": ")[1], problem]).sort(), [
      ['passage "p1"', "its text or its fields have changed"],
      ['passage "p2"', "its codes have changed"],
    ]);
    assert.is((await indexInfo(place)).passages, 49);
  });

  test("a node with a full disk keeps what it has, and takes more when there is space", async () => {
    const place = await importedInto(server, 50);
    const more = makePassages(60);
    const adding = async (): Promise<void> => {
      await using store = await connectStore(place);
      await importPassages(store, more, { ...importing, isImport: false });
    };
    const restartWith = async (fullPercentage: string): Promise<void> => {
      process.env.DISK_USE_READONLY_PERCENTAGE = fullPercentage;
      await server.kill();
      await server.start();
      delete process.env.DISK_USE_READONLY_PERCENTAGE;
    };
    const isFull = async (): Promise<boolean> => {
      const shards = await servers.rest("GET", `/schema/${classOf(place)}/shards`);
      return (shards as { status: string }[]).every(({ status }) => status === "READONLY");
    };
    await restartWith("1");
    while (!(await isFull())) await sleep(100);
    await rejects(adding(), /expected space on the disks .*; free some, and run it again/);
    await using index = await openIndex(place);
    assert.is((await index.search(encodeText("w1 w2 w3"), { topK: 5 })).length, 5);
    await restartWith("0"); // never
    await adding();
    assert.is((await indexInfo(place)).passages, 60);
    assert.equal(await verifyIndex(place), []);
  });

  test("each fault is one line with its code", async () => {
    const place = await importedInto(server, 50);
    const name = classOf(place);
    const fault = async (work: Promise<unknown>, code: string, message: RegExp): Promise<void> => {
      const error = await work.then(
        () => undefined,
        (error: unknown) => error as InputError,
      );
      assert.instance(error, InputError);
      assert.is(error!.code, code, error!.message);
      assert.match(error!.message, message);
      assert.not.match(error!.message, /secret|\n/);
    };
    const withKey = async <Result>(key: string, work: () => Promise<Result>): Promise<Result> => {
      process.env.WEAVIATE_API_KEY = key;
      try {
        return await work();
      } finally {
        process.env.WEAVIATE_API_KEY = API_KEY;
      }
    };
    const wrong = withKey("wrong", () => openIndex(place));
    await fault(wrong, "ERR_REATT_NO_PERMISSION", /expected an API key of the cluster/);
    const deleting = () => deletePassages(["p1"], { directory: place });
    await fault(withKey(READER_KEY, deleting), "ERR_REATT_NO_PERMISSION", /a user that may do/);
    for (const [bad, message] of [
      [place.replace(/\/c\d+/, "/Upper"), /a collection of lower-case letters/],
      [place.replace("//", "//user@"), /got a user; .* the API key belongs into/],
      [`${place}&shard=3`, /with several hosts/],
      [place.replace(/grpc=/, "grpc=1,2,"), /3 ports of gRPC for 1 hosts/],
    ] as const)
      await fault(openIndex(bad), "ERR_REATT_BAD_OPTION", message);

    await using store = await connectStore(place);
    const wide = { count: 1 };
    await fault(
      store.nearest(new Float32Array(3), wide),
      "ERR_REATT_DAMAGED_INDEX",
      /expected vectors of 8 values, got 3/,
    );
    const passages = [{ id: "odd", title: "", text: "w1 \ud83d" }];
    const adding = importPassages(store, passages, { ...importing, isImport: false });
    await fault(adding, "ERR_REATT_BAD_INPUT", /got others in the passage "odd"/);

    await using index = await openIndex(place);
    const search = () => index.search(encodeText("w1 w2 w3"), { topK: 5 });
    await servers.rest("DELETE", `/schema/${name}`);
    await fault(search(), "ERR_REATT_DAMAGED_INDEX", /expected the collection that reatt made/);
    await fault(openIndex(place), "ERR_REATT_NO_INDEX", /a collection that reatt index has made/);
    await servers.rest("POST", "/schema", { class: name });
    await fault(openIndex(place), "ERR_REATT_DAMAGED_INDEX", /got another one of this name/);
  });

  test("a collection of others is not dropped", async () => {
    for (const suffix of ["", "Records"]) {
      const place = server.address();
      const other = `${classOf(place)}${suffix}`;
      await servers.rest("POST", "/schema", { class: other });
      await using store = await connectStore(place);
      await rejects(store.drop(), /got another one of this name/);
      await rejects(importPassages(store, makePassages(3), importing), /another one of this name/);
      const found = (await servers.rest("GET", `/schema/${other}`)) as { class: string };
      assert.is(found.class, other);
    }
  });
}

test.run();
