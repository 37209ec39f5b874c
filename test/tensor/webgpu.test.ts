/**
 * The webgpu provider, in a separate process, since a driver can crash it. Uses SwiftShader, a
 * software Vulkan device in Debian's package chromium-common, or the machine's own device.
 */

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter } from "node:path";
import { test } from "uvu";
import * as assert from "uvu/assert";
import { moduleArguments } from "../support/node-program.ts";

const SWIFTSHADER = "/usr/lib/chromium"; // also contains a Vulkan loader, libvulkan.so.1
const NO_DEVICE = 3; // exit code of webgpu-suite.ts

const environment = { ...process.env };
if (existsSync(`${SWIFTSHADER}/vk_swiftshader_icd.json`)) {
  environment.VK_ICD_FILENAMES = `${SWIFTSHADER}/vk_swiftshader_icd.json`;
  environment.LD_LIBRARY_PATH = [SWIFTSHADER, process.env.LD_LIBRARY_PATH]
    .filter(Boolean)
    .join(delimiter);
}
const { status, signal, stdout, stderr } = spawnSync(
  process.execPath,
  [...moduleArguments("test/tensor/webgpu-suite.ts")],
  { env: environment, encoding: "utf8" },
);

const title = "webgpu: every operation, and tiny models as on cpu";
if (status === NO_DEVICE) {
  console.log(`skipped: ${title}: no Vulkan device; Debian's chromium-common has one in software`);
  test.skip(title);
} else test(title, () => assert.is(status, 0, `${signal ?? status}\n${stdout}${stderr}`));

test.run();
