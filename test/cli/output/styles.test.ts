import { test } from "uvu";
import * as assert from "uvu/assert";
import { hasStyles } from "../../../src/cli/output/styles.ts";

const stream = (isTTY: boolean, colors: boolean) => ({ isTTY, hasColors: () => colors });
const [terminal, plain, file] = [stream(true, true), stream(true, false), stream(false, true)];

test("a terminal with colors has styles, a file has none", () => {
  assert.equal(
    [hasStyles(terminal, {}), hasStyles(plain, {}), hasStyles(file, {})],
    [true, false, false],
  );
});

test("NO_COLOR switches styles off, if it has a value", () => {
  assert.equal(
    [hasStyles(terminal, { NO_COLOR: "1" }), hasStyles(terminal, { NO_COLOR: "" })],
    [false, true],
  );
});

test("FORCE_COLOR decides alone", () => {
  for (const FORCE_COLOR of ["", "1", "3", "true"])
    assert.is(hasStyles(file, { FORCE_COLOR, NO_COLOR: "1" }), true, FORCE_COLOR);
  for (const FORCE_COLOR of ["0", "false"]) assert.is(hasStyles(terminal, { FORCE_COLOR }), false);
});

test.run();
