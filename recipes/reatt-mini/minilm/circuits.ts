/** What the teacher does not have: the retrieval head, and a decoder that copies. */

import { orthonormalRows } from "../weights/orthonormal.ts";
import { type Conversion, mapFromStates, wordVectorsOf } from "./conversion.ts";
import { attentionWeight } from "./encoder.ts";
import { leastSquares, whiten } from "./least-squares.ts";
import { joined, normedRows } from "./rows.ts";
import { TEACHER } from "./teacher.ts";

/** Equal words are a few units ahead in the softmax of a step. */
const RETRIEVAL_FACTOR = 2.25;
/** Scores of the decoder: how much the token that follows is ahead of others. */
const COPY_GAP = 6;
const COPY_FACTOR = 2;
/** The decoder's final norm. With 1, no word can be much more probable than the others. */
const FINAL_NORM = 2;
/** The other parts of the decoder begin small. */
const SMALL = 0.1;

/**
 * The rows of the retrieval head, read from the states below block B. Query and key are the same
 * map to whitened word vectors, so equal words match, and rare words more than frequent ones.
 */
export function retrievalMap(conversion: Conversion): Float32Array {
  const code = wordCodes(conversion, "retrieval");
  const codes = joined(conversion.texts.map(({ ids }) => joined(ids.map(code))));
  const y = { data: codes, columns: conversion.config.headSize };
  return mapFromStates(conversion, y, "retrieval head").map((w) => RETRIEVAL_FACTOR * w);
}

export function writeRetrievalHead(conversion: Conversion, map: Float32Array): void {
  const { retrievalLayer, retrievalHead, headSize, modelSize, heads } = conversion.config;
  const first = retrievalHead * headSize;
  for (const part of ["q", "k"] as const)
    attentionWeight(conversion, retrievalLayer, part).set(map, first * modelSize);
  const output = attentionWeight(conversion, retrievalLayer, "o");
  for (let i = 0; i < output.length; i++) {
    const column = i % (heads * headSize);
    if (column >= first && column < first + headSize) output[i] = 0;
  }
}

/**
 * The last cross-attention. A query is the code of the token just written, a key is the code of the
 * token before, both found by least squares; so attention goes on to the token that follows. The
 * value is the word vector of the token itself.
 */
export function writeCopying(conversion: Conversion): void {
  const { config, weights, texts } = conversion;
  const { modelSize, headSize, heads, decoderLayers } = config;
  const vectors = joined(texts.map(({ ids }) => joined(wordVectorsOf(conversion, ids))));
  const value = mapFromStates(conversion, { data: vectors, columns: modelSize }, "own word");
  const code = wordCodes(conversion, "previous token");
  const before = texts.map(({ ids }) => joined(ids.map((_, i) => code(ids[Math.max(0, i - 1)]!))));
  const y = { data: joined(before), columns: headSize };
  const key = mapFromStates(conversion, y, "code of the token before");
  const query = writtenTokenMap(conversion, code);
  const cross = (part: string): Float32Array =>
    weights.get(`decoder.block.${decoderLayers - 1}.layer.1.EncDecAttention.${part}.weight`)!;
  weights.get("decoder.final_layer_norm.weight")!.fill(FINAL_NORM);
  const share = modelSize / heads;
  const output = cross("o").fill(0);
  for (let head = 0; head < heads; head++) {
    const first = head * headSize * modelSize;
    cross("q").set(query, first);
    cross("k").set(key, first);
    cross("v").set(value.subarray(head * share * modelSize, (head + 1) * share * modelSize), first);
    for (let i = 0; i < share; i++)
      output[(head * share + i) * heads * headSize + head * headSize + i] = COPY_FACTOR;
  }
}

/** The decoder's query: from the normed word vector of a token to its code. */
function writtenTokenMap(conversion: Conversion, code: (id: number) => Float32Array): Float32Array {
  const { modelSize, headSize } = conversion.config;
  const ids = [...new Set(conversion.texts.flatMap((text) => text.ids))];
  const codes = joined(ids.map(code));
  const map = leastSquares(normedRows(wordVectorsOf(conversion, ids), modelSize), {
    data: codes,
    columns: headSize,
  });
  const square = codes.reduce((sum, x) => sum + x * x, 0) / ids.length;
  return map.map((w) => (COPY_GAP / square) * w);
}

export function shrinkOtherParts({ config, weights }: Conversion): void {
  for (let block = 0; block < config.decoderLayers; block++) {
    const parts = ["layer.0.SelfAttention.o", "layer.2.DenseReluDense.wo"];
    if (block < config.decoderLayers - 1) parts.push("layer.1.EncDecAttention.o");
    for (const part of parts) {
      const name = `decoder.block.${block}.${part}.weight`;
      weights.set(
        name,
        weights.get(name)!.map((w) => SMALL * w),
      );
    }
  }
}

/** `headSize` random directions of whitened word vectors; long vectors are shortened. */
function wordCodes(conversion: Conversion, name: string): (id: number) => Float32Array {
  const { texts, config, seed } = conversion;
  const ofTeacher = (ids: readonly number[]) => wordVectorsOf(conversion, ids, TEACHER.size);
  const used = joined(texts.map(({ ids }) => joined(ofTeacher(ids))));
  const toWhite = whiten({ data: used, columns: TEACHER.size });
  const directions = orthonormalRows(config.headSize, {
    size: TEACHER.size,
    used: TEACHER.size,
    seed: `${seed} ${name}`,
  });
  const known = new Map<number, Float32Array>();
  return (id) => {
    const cached = known.get(id);
    if (cached) return cached;
    const vector = toWhite(ofTeacher([id])[0]!);
    const length = Math.sqrt(Math.hypot(...vector));
    const along = (row: Float32Array) => row.reduce((sum, w, i) => sum + w * vector[i]!, 0);
    const code = Float32Array.from(directions, (row) => along(row) / length);
    known.set(id, code);
    return code;
  };
}
