/** Copies of the embedded model with another configuration. */

import { cp } from "node:fs/promises";
import { join } from "node:path";
import type { ModelConfig } from "../../src/model/config.ts";
import { readConfig, writeConfig } from "../../src/model/config-file.ts";

const EMBEDDED = "models/reatt-mini";

/**
 * Copies the embedded model into `folder`. `configure` sets values of the copy's configuration;
 * those that it does not name are the embedded model's.
 */
export async function copyModel(
  folder: string,
): Promise<{ copy: string; configure(changes: Partial<ModelConfig>): Promise<void> }> {
  const copy = join(folder, "model");
  await cp(EMBEDDED, copy, { recursive: true });
  const config = await readConfig(EMBEDDED);
  return { copy, configure: (changes) => writeConfig(copy, { ...config, ...changes }, EMBEDDED) };
}
