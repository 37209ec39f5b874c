/** What training of token keys needs of a model. */

import { InputError } from "../../io/errors.ts";
import type { ModelConfig } from "../../model/config.ts";

/**
 * @param where the model, or the option that needs the keys
 * @param reason why one vector is not enough
 * @throws {InputError} if the model has one vector for each text
 */
export function requireTokenKeys(
  { retrievalAttention: { pooling } }: ModelConfig,
  where: string,
  reason: string,
): void {
  if (pooling === undefined) return;
  throw new InputError({
    where,
    expected: "a model that retrieves by tokens",
    got: "one with a vector for each text (pooling)",
    remedy: `name another model: ${reason}`,
  });
}
