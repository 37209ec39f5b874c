import { test } from "uvu";
import { conformance, opening } from "./conformance.ts";
import { isInstalled } from "./support.ts";

if (isInstalled("faiss-node")) {
  conformance(test, { name: "faiss", open: opening({ engine: "faiss" }) });
  conformance(test, { name: "faiss, 2 bits", bits: 2, open: opening({ engine: "faiss" }) });
  for (const factory of ["IVF16,PQ4x6np", "HNSW16"]) {
    const open = opening({ engine: { name: "faiss", factory } });
    conformance(test, { name: `faiss ${factory}`, recall: 0.9, open });
  }
} else test("faiss: SKIPPED, the package faiss-node is not installed", () => {});

test.run();
