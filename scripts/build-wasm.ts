/**
 * Compiles the kernels in assembly to TypeScript files in src. The results are committed, so
 * neither installation nor build needs the compiler.
 *
 *     npm run build:wasm
 */

import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import asc from "assemblyscript/asc";

const FOLDER = resolve("assembly");
const OPTIONS = [
  "--baseDir",
  FOLDER,
  "--outFile",
  "kernel.wasm",
  "-O3",
  "--runtime",
  "stub",
  "--noAssert",
  "--importMemory",
  "--enable",
  "simd",
];

export interface Kernel {
  /** In the folder assembly. */
  readonly source: string;
  /** The constant that holds the compiled module in base64. */
  readonly constant: string;
  readonly compiled: URL;
}

const kernel = (source: string, constant: string, folder: string): Kernel => ({
  source: `${source}.ts`,
  constant,
  compiled: pathToFileURL(resolve("src/retrieval", folder, `${source}.wasm.ts`)),
});

export const KERNELS: readonly Kernel[] = [
  kernel("code-scores", "CODE_SCORES", "search"),
  kernel("decode-keys", "DECODE_KEYS", "codec"),
  kernel("list-gains", "LIST_GAINS", "search"),
  kernel("nearest-codeword", "NEAREST_CODEWORD", "codec"),
  kernel("nearest-row", "NEAREST_ROW", "codec"),
];

/** The TypeScript file of a compiled kernel. */
export async function compileKernel({ source, constant }: Kernel): Promise<string> {
  let module: Uint8Array | undefined;
  const { error, stderr } = await asc.main([source, ...OPTIONS], {
    writeFile: (_, data) => {
      module = data as Uint8Array;
    },
  });
  if (error || !module) throw new Error(`${error?.message}\n${stderr}`);
  const base64 = Buffer.from(module).toString("base64");
  const header = `/** assembly/${source}, compiled by \`npm run build:wasm\`. */`;
  return `${header}\nexport const ${constant}: string =\n  "${base64}";\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  for (const kernel of KERNELS) await writeFile(kernel.compiled, await compileKernel(kernel));
