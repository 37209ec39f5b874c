/** scripts/run-tests.ts on small files that pass, fail, run nothing, crash and hang. */

import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";

const IMPORTS = `import { test } from "uvu"; import * as assert from "uvu/assert";\n`;
const PASSES = `${IMPORTS}test("a", () => {}); test("b", () => {}); test.run();`;
const FAILS = `${IMPORTS}test("good", () => {}); test("bad", () => assert.is(1, 2)); test.run();`;

/** Runs the runner in a folder of its own that holds these files below test/. */
function runTests(
  files: Record<string, string>,
  ...args: string[]
): { status: number | null; lines: string[] } {
  const folder = mkdtempSync(join(tmpdir(), "reatt-run-tests-"));
  try {
    symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
    mkdirSync(join(folder, "test", "deep"), { recursive: true });
    for (const [path, text] of Object.entries(files))
      writeFileSync(join(folder, "test", path), text);
    const argv = ["--import", "tsx", resolve("scripts/run-tests.ts"), ...args];
    const { status, stdout } = spawnSync(process.execPath, argv, { cwd: folder, encoding: "utf8" });
    return { status, lines: stdout.trimEnd().split("\n") };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test("adds up what passes and what is skipped", () => {
  const why = `console.log("skipped: no browser");`;
  const skips = `${IMPORTS}${why} test("a", () => {}); test.skip("b", () => {}); test.run();`;
  const { status, lines } = runTests({
    "one.test.ts": PASSES,
    "deep/two.test.ts": skips,
    "helper.ts": "throw 1",
  });
  assert.is(lines.at(-1), "3 passed, 0 failed, 1 skipped");
  const [named, reason] = lines.slice(lines.indexOf("Skipped:") + 1);
  assert.is(named, "  1  test/deep/two.test.ts");
  assert.is(reason, "       skipped: no browser");
  assert.is(status, 0);
});

test("fails with a failing test, and shows its output", () => {
  const { status, lines } = runTests({ "a.test.ts": FAILS, "b.test.ts": PASSES });
  assert.is(lines.at(-1), "3 passed, 1 failed");
  assert.is(status, 1);
  assert.match(lines.join("\n"), /FAIL {2}"bad"/);
});

test("fails with a file that never calls run()", () => {
  const { status, lines } = runTests({
    "a.test.ts": `${IMPORTS}test("a", () => {});`,
    "b.test.ts": PASSES,
  });
  assert.is(lines.at(-1), "2 passed, 1 failed");
  assert.is(status, 1);
  assert.match(lines.join("\n"), /a\.test\.ts ran no test/);
});

test("fails with a file that crashes before, during and after its tests", () => {
  const { status, lines } = runTests({
    "before.test.ts": `throw new Error("early");`,
    "during.test.ts": `${IMPORTS}test("a", () => process.kill(process.pid, "SIGSEGV")); test.run();`,
    "after.test.ts": `${PASSES} process.on("exit", () => process.exit(3));`,
  });
  assert.is(lines.at(-1), "2 passed, 3 failed");
  assert.is(status, 1);
  const output = lines.join("\n");
  assert.match(output, /before\.test\.ts crashed with exit code 1/);
  assert.match(output, /during\.test\.ts crashed with SIGSEGV/);
  assert.match(output, /after\.test\.ts crashed with exit code 3/);
});

test("kills a file that hangs, even one that leaves a process behind", () => {
  const child = `spawn(process.execPath, ["-e", "setTimeout(() => {}, 20000)"], { stdio: "inherit" })`;
  const hangs = `import { spawn } from "node:child_process"; ${PASSES} ${child}; setInterval(() => {}, 1000);`;
  const { status, lines } = runTests({ "a.test.ts": hangs }, "--time-limit", "8");
  assert.is(lines.at(-1), "2 passed, 1 failed");
  assert.is(status, 1);
  assert.match(lines.join("\n"), /a\.test\.ts was killed/);
});

test("runs what the pattern names, and fails where it names nothing", () => {
  const files = { "one.test.ts": PASSES, "two.test.ts": FAILS };
  assert.is(runTests(files, "one").lines.at(-1), "2 passed, 0 failed");
  const { status, lines } = runTests(files, "three");
  assert.is(lines.at(-1), "0 passed, 1 failed");
  assert.is(status, 1);
});

test("prints whole outputs in the order of the files", () => {
  const files: Record<string, string> = {};
  for (const [index, name] of ["a", "b", "c", "d"].entries()) {
    const wait = `await new Promise((done) => setTimeout(done, ${200 - 60 * index}));`;
    const body = `console.log("${name} 1"); ${wait} console.log("${name} 2");`;
    files[`${name}.test.ts`] = `${IMPORTS}test("${name}", async () => { ${body} }); test.run();`;
  }
  const { lines } = runTests(files);
  const printed = lines
    .map((line) => line.match(/[a-d] [12]$/)?.[0])
    .filter((line) => line !== undefined);
  assert.equal(printed, ["a 1", "a 2", "b 1", "b 2", "c 1", "c 2", "d 1", "d 2"]);
});

test.run();
