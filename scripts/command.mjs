#!/usr/bin/env node
// Compiled modules are kept for the next command, in the folder for temporary files (Node 22 on).
import module from "node:module";

module.enableCompileCache?.();
await import("../bundle/cli-main.js");
