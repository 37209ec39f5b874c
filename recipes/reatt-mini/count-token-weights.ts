/**
 * Adds token weights to a model: the weight of a token of a question is 1 + its idf in a corpus.
 * The last stage of `recipes/reatt-mini/train`. The other weights stay as they are, so indexes of
 * the model stay valid.
 *
 *     npx tsx recipes/reatt-mini/count-token-weights.ts --model DIR --corpus FILE --out DIR
 *
 * The weights are a shard of their own beside that of `--model`, which is copied.
 */

import { copyFile, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openSafetensors } from "../../src/checkpoints/safetensors.ts";
import { writeSafetensors } from "../../src/checkpoints/write-safetensors.ts";
import { readConfig } from "../../src/model/config.ts";
import { TOKEN_WEIGHTS } from "../../src/model/parameter-names.ts";
import { loadTokenizer } from "../../src/text/tokenizer.ts";
import { countTokenWeights } from "../../src/training/adaptation/token-weights.ts";
import { openCorpus } from "../../src/training/data/corpus.ts";

const { values } = parseArgs({
  options: {
    model: { type: "string", default: "runs/reatt-mini/reader" },
    corpus: { type: "string", default: "runs/reatt-mini/reading/paragraphs/corpus.jsonl" },
    out: { type: "string", default: "runs/reatt-mini/weighted" },
  },
});
const { model, out } = values;
const MAX_PASSAGE_TOKENS = 512;
const WEIGHTS = "model.safetensors";
const [FIRST, SECOND] = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"];

const config = await readConfig(model);
const tokenizer = await loadTokenizer(join(model, "spiece.model"), config.vocabularySize);
await using corpus = await openCorpus(values.corpus);
const weights = await countTokenWeights(corpus, tokenizer, config, MAX_PASSAGE_TOKENS);

await mkdir(out, { recursive: true });
for (const file of await readdir(model))
  await copyFile(join(model, file), join(out, file === WEIGHTS ? FIRST! : file));
const added = { values: weights, shape: [config.vocabularySize] };
await writeSafetensors(join(out, SECOND!), new Map([[TOKEN_WEIGHTS, added]]), { dtype: "F32" });
await using stored = await openSafetensors(join(model, WEIGHTS));
const places = [...stored.tensors.keys()].map((name) => [name, FIRST]);
const index = { weight_map: Object.fromEntries([...places, [TOKEN_WEIGHTS, SECOND]]) };
await writeJson("model.safetensors.index.json", index);
const written = JSON.parse(await readFile(join(model, "config.json"), "utf8"));
await writeJson("config.json", { ...written, retrieval_token_weights: true });
console.log(`${out}: weights of ${weights.length} tokens, counted in ${corpus.size} passages`);

async function writeJson(name: string, value: object): Promise<void> {
  await writeFile(join(out, name), `${JSON.stringify(value, null, 2)}\n`);
}
