import { createRequire } from "node:module";
import { test } from "uvu";
import { conformance } from "./conformance.ts";

conformance(test, { engine: "onnxruntime" });
conformance(test, { engine: "onnxruntime", bits: 2 });

if (isInstalled("faiss-node")) conformance(test, { engine: "faiss" });
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
