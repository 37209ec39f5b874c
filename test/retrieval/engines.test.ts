import { test } from "uvu";
import { conformance, opening } from "./conformance.ts";

conformance(test, { name: "onnxruntime", open: opening({}) });
conformance(test, { name: "onnxruntime, 2 bits", bits: 2, open: opening({ preset: "exact" }) });
for (const [preset, recall] of [
  ["fast", 0.5],
  ["balanced", 0.9],
] as const)
  conformance(test, { name: `${preset}, 2 bits`, bits: 2, recall, open: opening({ preset }) });

test.run();
