import { test } from "uvu";
import { conformance, opening } from "../conformance.ts";
import { isInstalled } from "../support.ts";

if (isInstalled("faiss-node")) {
  conformance(test, { name: "faiss", open: opening({ engine: "faiss" }) });
  conformance(test, { name: "faiss, 2 bits", bits: 2, open: opening({ engine: "faiss" }) });
  for (const [factory, recall] of [
    ["IVF16,PQ4x6np", 0.9],
    ["HNSW16", 0.7], // its graph depends on threads
  ] as const) {
    const open = opening({ engine: { name: "faiss", factory } });
    conformance(test, { name: `faiss ${factory}`, recall, open });
  }
} else test.skip("faiss: the package faiss-node is not installed");

test.run();
