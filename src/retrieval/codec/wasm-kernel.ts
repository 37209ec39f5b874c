/** Opens the WebAssembly kernels that `npm run build:wasm` compiles, each with its own memory. */

import { addressSpaceErrorFrom } from "../../io/address-space.ts";

const PAGE = 65_536;

/** Compiled modules by their base64: each is compiled once. */
const modules = new Map<string, WebAssembly.Module>();

export interface WasmKernel {
  readonly memory: WebAssembly.Memory;
  readonly exports: WebAssembly.Instance["exports"];
  /** Grows the memory to at least this many bytes. Its `buffer` can be another one then. */
  reserve(bytes: number): void;
}

/**
 * The garbage collector frees a kernel and its memory.
 *
 * @param where the work that needs the kernel, for the error
 * @throws {InputError} if the process has too little address space
 */
export function openKernel(base64: string, where: string): WasmKernel {
  const allocate = <T>(make: () => T): T => {
    try {
      return make();
    } catch (error) {
      throw addressSpaceErrorFrom(error, where);
    }
  };
  return allocate(() => {
    const module = modules.get(base64) ?? new WebAssembly.Module(Buffer.from(base64, "base64"));
    modules.set(base64, module);
    const memory = new WebAssembly.Memory({ initial: 0 });
    const { exports } = new WebAssembly.Instance(module, { env: { memory } });
    return {
      memory,
      exports,
      reserve(bytes) {
        const missing = bytes - memory.buffer.byteLength;
        if (missing > 0) allocate(() => memory.grow(Math.ceil(missing / PAGE)));
      },
    };
  });
}
