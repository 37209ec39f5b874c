/** `reatt index info` and `verify`: the contents of an index, and whether its files are intact. */

import { InputError } from "../../../io/errors.ts";
import { formatBytes } from "../../../io/format-bytes.ts";
import { forgetFingerprints } from "../../../model/kept-fingerprints.ts";
import type { PruningRule } from "../../../model/token-pruning.ts";
import type { ModelPlace } from "../../../retrieval/index/format/manifest.ts";
import type { ImportPart, IndexInfo } from "../../../retrieval/index/maintain/info.ts";
import { indexInfo, verifyIndex } from "../../../retrieval/maintain.ts";
import { defineCommand } from "../../line/command.ts";
import { INDEX, JSON_OBJECT, STORE } from "../../shared/file-options.ts";

export const infoCommand = defineCommand({
  options: { index: INDEX, store: STORE, json: JSON_OBJECT },
  library: { indexInfo },
  example: "reatt index info --index index",
  async run({ index: directory, json }, _signal, _operands, { indexInfo }) {
    const info = await indexInfo(directory);
    process.stdout.write(`${json ? JSON.stringify(info) : formatInfo(info)}\n`);
  },
});

export const verifyCommand = defineCommand({
  options: { index: INDEX, store: STORE, json: JSON_OBJECT },
  library: { verifyIndex },
  example: "reatt index verify --index index",
  async run({ index: directory, json }, signal, _, { verifyIndex }) {
    await forgetFingerprints();
    const damages = await verifyIndex(directory, { signal });
    if (json) process.stdout.write(`${JSON.stringify({ damages })}\n`);
    else for (const { path, problem } of damages) process.stdout.write(`${path}: ${problem}\n`);
    if (damages.length > 0)
      throw new InputError({
        where: directory,
        expected: "everything as it was written",
        got: `${damages.length} damaged`,
        remedy: "restore what is damaged from a copy, or build the index again",
      });
    if (!json) process.stdout.write("whole\n");
  },
});

function formatInfo(info: IndexInfo): string {
  const { passages, tokens, bytes, bits, centroids, segments, deletedPassages } = info;
  const { shard, generation, header, cut, states, parts } = info;
  const clusters = centroids ? `, ${centroids} centroids` : "";
  const rows: [name: string, value: string | number][] = [
    ["passages", passages],
    ["tokens", tokens],
    ["size", `${formatBytes(bytes)}, ${(bytes / Math.max(1, tokens)).toFixed(1)} bytes a token`],
    ["keys", `${header.dimension} dimensions of ${bits} bits${clusters}`],
  ];
  if (!parts)
    rows.push(["segments", segments], ["deleted", deletedPassages], ["generation", generation]);
  rows.push(["model", header.fingerprint]);
  if (header.model) rows.push(["made by", describeModel(header.model)]);
  if (parts) rows.push(["parts", describeParts(parts)]);
  if (states) {
    const total = formatBytes(states.tokens * states.bytesPerToken);
    rows.splice(4, 0, ["states", `${total}, ${states.bytesPerToken} bytes a token`]);
  }
  if (cut.passages > 0) {
    const limit = `over ${header.maxPassageTokens}`;
    rows.splice(2, 0, ["cut", `${cut.tokens} tokens ${limit} in ${cut.passages} passages`]);
  }
  if (header.pooling) rows.push(["pooling", `${header.pooling}: one key for each passage`]);
  if (header.keepTokens)
    rows.push(["keep ratio", `${header.keepTokens}, tokens ${describe(header.pruning)}`]);
  if (shard) rows.push(["shard", `${shard.index + 1} of ${shard.count}`]);
  return rows.map(([name, value]) => `${name.padEnd(12)}${value}`).join("\n");
}

const describeModel = ({ title, path }: ModelPlace): string =>
  path === undefined ? title : `${title}, in ${path} from here`;

const describeParts = (parts: readonly ImportPart[]): string =>
  `${parts.filter(({ finished }) => finished).length} of ${parts.length} finished`;

const describe = (rule: PruningRule | undefined): string => {
  if (rule === undefined) return "chosen by attention";
  return rule === "novelty" ? "chosen by novelty" : "chosen by the pruning layer of a model";
};
