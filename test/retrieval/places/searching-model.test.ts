/** A model and an index that do not belong together: the error names both. */

import { homedir } from "node:os";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { EMBEDDED_MODEL } from "../../../src/hub/model-name.ts";
import { checkModel, seenFrom } from "../../../src/retrieval/places/searching-model.ts";

const HEADER = { dimension: 2, maxPassageTokens: 8, prompts: {} };
const messageOf = (action: () => void): string => {
  try {
    action();
    return "";
  } catch (error) {
    return String((error as Error).message);
  }
};

test("the error names the model that made the index and the one that searches, with their folders", () => {
  const made = { ...HEADER, fingerprint: "a1", model: { title: "ours", path: "/models/ours" } };
  const searching = { fingerprint: "b2", model: { title: "reatt-mini", path: "/reatt-mini" } };
  const message = messageOf(() => checkModel("index", made, searching));
  assert.match(message, /^index: expected an index of the model b2, got one of the model a1; /);
  assert.match(message, "use the model that made the index (ours, in /models/ours), or build");
  assert.match(message, "with this one (reatt-mini, in /reatt-mini)");
  assert.is(
    messageOf(() => checkModel("index", made, { ...searching, fingerprint: "a1" })),
    "",
  );
});

test("an index names a model near it by the way to it, and no absolute path", () => {
  const pathFrom = (directory: string | undefined, path: string, title = "ours") =>
    seenFrom(directory, { title, path });
  assert.equal(pathFrom("/work/index", "/work/ours"), { title: "ours", path: "../ours" });
  assert.equal(pathFrom("/work/ours.run/index", "/work/ours"), {
    ...{ title: "ours", path: "../../ours" },
  });
  assert.equal(pathFrom("/work/ours", "/work/ours/index"), { title: "ours", path: "index" });
  assert.equal(pathFrom("/a/b/c/index", "/models/ours"), { title: "ours" });
  assert.equal(pathFrom("/srv/index", `${homedir()}/ours`), { title: "ours" }, "a home folder");
  assert.equal(pathFrom(undefined, "/work/ours"), { title: "ours" }, "a store");
  assert.equal(pathFrom("/work/index", EMBEDDED_MODEL, "reatt-mini"), { title: "reatt-mini" });
  assert.equal(pathFrom("/work/index", "/work/cache/1a2b", "org/ours@1a2b"), {
    title: "org/ours@1a2b",
  });
});

test("an index of an earlier version names none", () => {
  const made = { ...HEADER, fingerprint: "a1" };
  const message = messageOf(() => checkModel("index", made, { fingerprint: "b2" }));
  assert.match(message, "; use the model that made the index, or build the index again");
});

test.run();
