import { test } from "uvu";
import { memoryStore } from "../../support/memory-store.ts";
import { storeConformance } from "./conformance.ts";

storeConformance(test, "memory", async () => memoryStore());

test.run();
