/**
 * Runs before the install scripts of the dependencies. On Linux, that of onnxruntime-node downloads
 * CUDA libraries from nuget.org on every machine, and the installation fails where it cannot. reatt
 * computes on the CPU and on WebGPU without them.
 *
 * The script is called `node ./script/install` and is in the file `install.js`. This puts a file
 * `install` beside it, which Node prefers. It calls `install.js` if the installation asks for CUDA:
 * `ONNXRUNTIME_NODE_INSTALL=true npm install reatt`.
 */

const { existsSync, writeFileSync } = require("node:fs");
const { dirname, join } = require("node:path");

const SCRIPT = `// Written by reatt, whose preinstall.cjs explains it.
if (Object.keys(process.env).some((name) => /onnxruntime_node_install/i.test(name)))
  require("./install.js");
`;

try {
  const scripts = join(dirname(require.resolve("onnxruntime-node/package.json")), "script");
  if (existsSync(join(scripts, "install.js"))) writeFileSync(join(scripts, "install"), SCRIPT);
} catch (error) {
  // The installation goes on: it can succeed where the download does.
  console.warn(`reatt: onnxruntime-node may download CUDA libraries (${error.message})`);
}
