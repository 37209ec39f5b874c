/** Which parameters the parts of a model have. */

import { test } from "uvu";
import * as assert from "uvu/assert";
import { parameterShapes } from "../../../src/model/parameter-names.ts";
import { keepsKeys, LOG_SCALE } from "../../../src/training/objectives/trained-parameters.ts";
import { type Part, trainedParameters } from "../../../src/training/options/trained.ts";
import { TINY_MODELS, withChanges } from "../../support/tiny-model.ts";

const MODELS = ["v1.1", "v1.0 tied", "backbone", "backbone and a block", "joint layers"].map(
  (name) => [name, TINY_MODELS[name]!] as const,
);

for (const [name, config] of MODELS) {
  const namesOf = (part: Part, layers?: number): ReadonlySet<string> => {
    const objective = part === "joint" || part === "reader" ? "qa" : "supervised";
    return trainedParameters(config, { part, layers, objective }).names;
  };
  const everything = [...parameterShapes(config).keys(), LOG_SCALE];

  test(`${name}: all that reading and retrieval use are all parameters`, () => {
    assert.equal([...namesOf("all")].sort(), [...everything].sort());
    const objective = "retrieval";
    const vectors = trainedParameters(config, { part: "all", objective }).names;
    const both = new Set([...vectors, ...namesOf("reader")]);
    // The relative bias of a stack belongs to nobody where its first block is not used.
    for (const parameter of everything)
      if (!parameter.includes("relative")) assert.ok(both.has(parameter), parameter);
  });

  test(`${name}: parts are parts of one another`, () => {
    const isIn = (part: Part, whole: Part) =>
      [...namesOf(part)].every((parameter) => namesOf(whole).has(parameter));
    assert.ok(isIn("joint", "reader"));
    for (const part of ["retrieval", "head", "query", "joint", "reader"] as const)
      assert.ok(isIn(part, "all"), part);
    const shared = [...namesOf("retrieval")].filter((parameter) =>
      namesOf("reader").has(parameter),
    );
    // They share the projections of one layer, of which each trains the rows of its heads.
    const { rows } = trainedParameters(config, { part: "reader", objective: "qa" });
    for (const parameter of shared) assert.is(rows.get(parameter), "others", parameter);
  });

  test(`${name}: an index remains valid where no key changes`, () => {
    const kept = (part: Part) => {
      const objective = part === "joint" || part === "reader" ? "qa" : "supervised";
      return keepsKeys(config, trainedParameters(config, { part, objective }));
    };
    assert.equal((["query", "joint", "reader"] as const).map(kept), [true, true, true]);
    assert.equal((["all", "retrieval", "head"] as const).map(kept), [false, false, false]);
  });
}

test("the last layers of a part", () => {
  const config = TINY_MODELS["joint layers"]!;
  const all = trainedParameters(config, { part: "retrieval", objective: "retrieval" }).names;
  const last = trainedParameters(config, { part: "retrieval", layers: 1, objective: "retrieval" });
  const layerOf = (name: string) => /(\w+\.layer\.\d+)\./.exec(name)?.[1];
  const layersOf = (names: ReadonlySet<string>) =>
    [...new Set([...names].flatMap((name) => layerOf(name) ?? []))].sort();
  assert.is(layersOf(all).length, 2);
  assert.equal(layersOf(last.names), layersOf(all).slice(1));
  const objective = "retrieval";
  assert.throws(
    () => trainedParameters(config, { part: "retrieval", layers: 3, objective }),
    /^layers: expected at most 2, got 3; give fewer/,
  );
});

test("a part that the objective does not train", () => {
  const { "v1.1": config } = TINY_MODELS;
  for (const part of ["joint", "reader"] as const)
    assert.throws(
      () => trainedParameters(config!, { part, objective: "retrieval" }),
      new RegExp(`^train ${part}: expected an objective that reads, got the objective retrieval`),
    );
  for (const part of ["retrieval", "head", "query"] as const)
    assert.throws(
      () => trainedParameters(config!, { part, objective: "qa" }),
      new RegExp(`^train ${part}: expected an objective that trains retrieval`),
    );
});

test("all heads are trained where all make the vectors", () => {
  const { "v1.1": config } = TINY_MODELS;
  const objective = "retrieval";
  assert.is(trainedParameters(config!, { part: "retrieval", objective }).rows.size, 2);
  assert.is(trainedParameters(config!, { part: "retrieval", objective, tau: 1 }).rows.size, 0);
  const pooled = withChanges(config!, { pooling: "mean" });
  assert.is(trainedParameters(pooled, { part: "retrieval", objective }).rows.size, 0);
});

test.run();
