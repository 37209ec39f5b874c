/**
 * Compiles the kernels in assembly to TypeScript files in src. The results are committed, so
 * neither installation nor build needs the compiler.
 *
 *     npm run build:wasm
 */

import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import asc from "assemblyscript/asc";

const FOLDER = fileURLToPath(new URL("../assembly", import.meta.url));
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

export const CODE_SCORES: Kernel = {
  source: "code-scores.ts",
  constant: "CODE_SCORES",
  compiled: new URL("../src/retrieval/search/code-scores.wasm.ts", import.meta.url),
};

export const NEAREST_CODEWORD: Kernel = {
  source: "nearest-codeword.ts",
  constant: "NEAREST_CODEWORD",
  compiled: new URL("../src/retrieval/codec/nearest-codeword.wasm.ts", import.meta.url),
};

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
  for (const kernel of [CODE_SCORES, NEAREST_CODEWORD])
    await writeFile(kernel.compiled, await compileKernel(kernel));
