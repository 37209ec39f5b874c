/** Reports that the process has too few addresses for WebAssembly. */

import { InputError } from "./errors.ts";

/**
 * The `InputError` for a WebAssembly instance or memory that could not be allocated. Returns any
 * other error unchanged.
 */
export function addressSpaceErrorFrom(error: unknown, where: string): unknown {
  const message = error instanceof Error ? error.message : "";
  if (!/Wasm memory|allocate memory|grow instance memory|out of memory|OOM/i.test(message))
    return error;
  return new InputError(
    {
      where,
      expected: "address space for WebAssembly",
      got: message,
      remedy: "raise the limit of the process (ulimit -v): an instance reserves 10 GB of addresses",
    },
    { cause: error },
  );
}
