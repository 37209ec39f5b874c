/**
 * Compiles assembly/code-scores.ts to src/retrieval/search/code-scores.wasm.ts. The result is
 * committed, so neither installation nor build needs the compiler.
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
  "code-scores.wasm",
  "-O3",
  "--runtime",
  "stub",
  "--noAssert",
  "--importMemory",
  "--enable",
  "simd",
];

/** The TypeScript file of the compiled kernel. */
export async function compileKernel(): Promise<string> {
  let module: Uint8Array | undefined;
  const { error, stderr } = await asc.main(["code-scores.ts", ...OPTIONS], {
    writeFile: (_, data) => {
      module = data as Uint8Array;
    },
  });
  if (error || !module) throw new Error(`${error?.message}\n${stderr}`);
  const base64 = Buffer.from(module).toString("base64");
  const header = "/** assembly/code-scores.ts, compiled by `npm run build:wasm`. */";
  return `${header}\nexport const CODE_SCORES: string =\n  "${base64}";\n`;
}

export const COMPILED: URL = new URL(
  "../src/retrieval/search/code-scores.wasm.ts",
  import.meta.url,
);

if (process.argv[1] === fileURLToPath(import.meta.url))
  await writeFile(COMPILED, await compileKernel());
