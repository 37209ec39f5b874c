/**
 * Names of weights as the checkpoints of others have them: those of Hugging Face's T5, and those of
 * its BERT below a T5. The naive models and the streams of random weights go by these.
 */

import type { ModelConfig } from "../../src/model/config.ts";
import { parameterTable } from "../../src/model/parameter-names.ts";
import { t5Names, toT5File } from "../../src/model/t5-form.ts";

/** By our names. Those of a model of other stacks are its own. */
export function referenceNames(config: ModelConfig): Map<string, string> {
  if (toT5File(config)) return t5Names(config);
  const names = [...parameterTable(config).keys()];
  if (!isAboveBert(config)) return new Map(names.map((name) => [name, name]));
  const prefixes = [...layerPrefixes(config), ...OTHERS];
  const inForm = (name: string): string => {
    const [ours, theirs] = prefixes.find(([prefix]) => name.startsWith(prefix)) ?? ["", ""];
    return theirs + name.slice(ours.length);
  };
  return new Map(names.map((name) => [name, inForm(name)]));
}

/** Whether the model is BERT's layers below a T5. */
export const isAboveBert = ({ shared, joint, modelSize }: ModelConfig): boolean =>
  shared[0]?.kind === "bert" &&
  joint.at(-1)!.kind === "t5" &&
  [...shared, ...joint].every(({ width, inputMap }) => width === modelSize && !inputMap);

type Prefix = readonly [ours: string, theirs: string];

function layerPrefixes({ shared, retrieval, joint, decoder }: ModelConfig): Prefix[] {
  const found: Prefix[] = [];
  const counts = { t5: 0, bert: 0 };
  for (const [part, stacks] of Object.entries({ shared, retrieval, joint }))
    for (const [i, { kind, layers }] of stacks.entries())
      for (let n = 0; n < layers; n++) {
        const isCopy = kind === "bert" && part === "joint";
        const theirs = isCopy
          ? `backbone.joint.layer.${n}.`
          : `${kind === "t5" ? "encoder.block" : "backbone.encoder.layer"}.${counts[kind]++}.`;
        found.push([`${part}.${i}.layer.${n}.`, theirs]);
      }
  for (let n = 0; n < decoder.layers; n++)
    found.push([`decoder.layer.${n}.`, `decoder.block.${n}.`]);
  const t5 = Object.entries({ shared, retrieval, joint }).flatMap(([part, stacks]) =>
    stacks.flatMap(({ kind }, i) => (kind === "t5" ? [`${part}.${i}`] : [])),
  );
  return [...found, [`${t5[0]}.relative_attention_bias.`, `encoder.block.0.${BIAS}`]];
}

const BIAS = "layer.0.SelfAttention.relative_attention_bias.";
const OTHERS: readonly Prefix[] = [
  ["embedding.", "shared."],
  ["shared.0.embeddings.", "backbone.embeddings."],
  ["joint.final_layer_norm.", "encoder.final_layer_norm."],
  ["decoder.relative_attention_bias.", `decoder.block.0.${BIAS}`],
  ["output_embedding.", "lm_head."],
  ["retrieval_attention.token_weights.", "retrieval.token_weights."],
];
