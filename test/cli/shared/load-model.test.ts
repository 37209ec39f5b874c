/** The model of a command that searches: by default the one that made the index. */

import { mkdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { loadModelFor } from "../../../src/cli/shared/load-model.ts";
import { ReAtt } from "../../../src/reatt.ts";
import { indexInfo } from "../../../src/retrieval/maintain.ts";
import { refused } from "../../checkpoints/support.ts";
import { temporaryFolder, writeTinyModel } from "../../support/training.ts";

const { signal } = new AbortController();

test("an index and its model are moved together; without the model, the error says where it was", async () => {
  await using folder = temporaryFolder();
  const [made, moved] = [join(folder.path, "made"), join(folder.path, "moved")];
  mkdirSync(join(made, "ours"), { recursive: true });
  await writeTinyModel(join(made, "ours"));
  {
    await using model = await ReAtt.load(join(made, "ours"));
    const passages = [{ id: "1", title: "Bern", text: "Bern is a town." }];
    await using _ = await model.index(passages, { directory: join(made, "index") });
  }
  renameSync(made, moved);
  const index = join(moved, "index");
  const { header } = await indexInfo(index);
  assert.equal(header.model, { title: "ours", path: "../ours" });
  {
    await using model = await loadModelFor([{ directory: index }], undefined, signal);
    assert.is(model.folder, join(moved, "ours"));
  }
  renameSync(join(moved, "ours"), join(moved, "other"));
  await refused(
    loadModelFor([{ directory: index }], undefined, signal),
    /index: expected its model ours, in .*moved.ours, got no model there; give --model/,
  );
  await using given = await loadModelFor([{ directory: index }], join(moved, "other"), signal);
  await using opened = await given.openIndex(index);
  assert.is(opened.passageCount, 1);
});

test.run();
