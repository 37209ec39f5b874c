import { createRequire } from "node:module";
import { test } from "uvu";
import { conformance } from "./conformance.ts";

conformance(test, "onnxruntime");

if (isInstalled("faiss-node")) conformance(test, "faiss");
else test("faiss: SKIPPED, the package faiss-node is not installed", () => {});

function isInstalled(name: string): boolean {
  try {
    createRequire(import.meta.url)(name);
    return true;
  } catch {
    return false;
  }
}

test.run();
