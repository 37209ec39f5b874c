/**
 * The tokenizer of BERT: words are divided at white space and punctuation, and each is divided into
 * the longest pieces of the vocabulary, from left to right. The ids are those of `BertTokenizer` of
 * Hugging Face but for some 660 characters of rare scripts, which have another category in its
 * version of Unicode.
 *
 * The file is `tokenizer.json` of Hugging Face's tokenizers with the model WordPiece. Its
 * post-processor is not read: the prompts of the model have `[CLS]` and a middle `[SEP]`
 * (prompts.ts), and a last `[SEP]` is added in place of T5's `</s>`.
 *
 * Sources: Wu et al. 2016 (https://arxiv.org/abs/1609.08144), section 4.1; BertNormalizer,
 * BertPreTokenizer and WordPiece of https://github.com/huggingface/tokenizers.
 */

import { dirname, join } from "node:path";
import { z } from "zod";
import { InputError } from "../../io/errors.ts";
import { readJsonFile } from "../../io/json/json-file.ts";
import { normalizeText } from "../normalize.ts";
import { checkTextAndLimit, idList } from "./tokenizer-arguments.ts";
import type { Tokenizer, TokenizerOptions } from "./tokenizer-interface.ts";

/** That of multilingual BERT, of 120,000 pieces, has 3 MB. */
const LIMITS = { bytes: 20_000_000, values: 2_000_000 };
const MASK = /<extra_id_\d+>/; // what is masked, in the way of T5

const WordPieceFile = z.object({
  added_tokens: z.array(z.object({ id: z.int().min(0), content: z.string().min(1) })).default([]),
  normalizer: z
    .object({
      type: z.literal("BertNormalizer"),
      clean_text: z.literal(true).default(true),
      handle_chinese_chars: z.literal(true).default(true),
      lowercase: z.boolean(),
      strip_accents: z.boolean().nullish(),
    })
    .nullable(),
  pre_tokenizer: z.object({ type: z.literal("BertPreTokenizer") }),
  model: z.object({
    type: z.literal("WordPiece"),
    unk_token: z.string(),
    continuing_subword_prefix: z.literal("##"),
    max_input_chars_per_word: z.int().min(1).max(1_000),
    vocab: z.record(z.string(), z.int().min(0)),
  }),
});

export type WordPieceFile = z.infer<typeof WordPieceFile>;

/** @throws {InputError} if the file is no WordPiece tokenizer as of BERT. */
export async function loadWordPiece(
  file: string,
  { vocabularySize: rows = Infinity, prompts }: TokenizerOptions,
): Promise<Tokenizer> {
  const settings = await readWordPiece(file);
  const { vocab, unk_token: unknown } = settings.model;
  const pieces = new Map(Object.entries(vocab));
  const idOf = (token: string): number => {
    const id = pieces.get(token);
    if (id === undefined) throw unusable(file, `a piece ${token}`, "none");
    return id;
  };
  const [unknownId, eosId, padId] = [unknown, "[SEP]", "[PAD]"].map(idOf) as [
    number,
    number,
    number,
  ];
  for (const { content, id } of settings.added_tokens) pieces.set(content, id);
  const tokens = new Map([...pieces].map(([token, id]) => [id, token]));
  const vocabularySize = 1 + [...tokens.keys()].reduce((most, id) => Math.max(most, id));
  if (vocabularySize > rows)
    throw unusable(file, `at most ${rows} pieces, as config.json has it`, `${vocabularySize}`);
  const added = settings.added_tokens.map(({ content }) => content);
  // PyLate's markers end with a space: "[Q] "
  const markers = Object.values(prompts ?? {}).flatMap((text) => text?.match(/\[\w+\]/g) ?? []);
  const others = markers.filter((marker) => !added.includes(`${marker} `));
  const control = new Map([...added, ...others].map((token) => [token, idOf(token)]));
  const maskId = pieces.get("[MASK]") ?? unknownId;
  const dividing = dividingExpression([...control.keys()]);
  const isUncased = settings.normalizer?.lowercase ?? false;
  const most = settings.model.max_input_chars_per_word;

  function* idsOf(text: string): Generator<number> {
    for (const [i, part] of text.split(dividing).entries()) {
      if (i % 2 === 1) yield control.get(part) ?? maskId;
      else for (const word of wordsOf(part, settings.normalizer)) yield* idsOfWord(word);
    }
  }

  function idsOfWord(word: string): number[] {
    const letters = Array.from(word);
    const ids: number[] = [];
    if (letters.length > most) return [unknownId];
    for (let start = 0; start < letters.length; ) {
      let end = letters.length;
      let id: number | undefined;
      for (; end > start; end--) {
        id = pieces.get(`${start > 0 ? "##" : ""}${letters.slice(start, end).join("")}`);
        if (id !== undefined) break;
      }
      if (id === undefined) return [unknownId];
      ids.push(id);
      start = end;
    }
    return ids;
  }

  function encode(text: string, limit = Infinity): number[] {
    checkTextAndLimit(text, limit);
    const ids: number[] = [];
    for (const id of idsOf(text)) {
      if (ids.length >= limit) break;
      ids.push(id);
    }
    return ids;
  }

  function decode(ids: Iterable<number>): string {
    const skipped = new Set([padId, eosId, control.get("[CLS]")]);
    const words = idList(ids).map((id) => (skipped.has(id) ? "" : (tokens.get(id) ?? "")));
    return words
      .filter((word) => word !== "")
      .map((word, i) => (i > 0 && !word.startsWith("##") ? ` ${word}` : word.replace(/^##/, "")))
      .join("");
  }

  return { vocabularySize, eosId, isUncased, unknownId, prompts, encode, decode };
}

/** What a `vocab.txt` and its `do_lower_case` say, as `tokenizer.json`. */
export function wordPieceOf(vocabulary: string, lowercase: boolean): WordPieceFile {
  const pieces = vocabulary.replace(/\r?\n$/, "").split(/\r?\n/);
  const vocab = Object.fromEntries(pieces.map((piece, id) => [piece, id]));
  const special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"].filter((token) => token in vocab);
  return {
    added_tokens: special.map((content) => ({ id: vocab[content]!, content })),
    normalizer: {
      type: "BertNormalizer",
      clean_text: true,
      handle_chinese_chars: true,
      lowercase,
      strip_accents: null,
    },
    pre_tokenizer: { type: "BertPreTokenizer" },
    model: {
      type: "WordPiece",
      unk_token: "[UNK]",
      continuing_subword_prefix: "##",
      max_input_chars_per_word: 100,
      vocab,
    },
  };
}

/** @throws {InputError} if the file is no WordPiece tokenizer as of BERT. */
export async function readWordPiece(file: string): Promise<WordPieceFile> {
  const json = await readJsonFile(file, LIMITS, () => unusable(file, "JSON", "something else"));
  const { data, error } = WordPieceFile.safeParse(json);
  if (data) return data;
  if (isUnigram(json)) throw onlyJson(join(dirname(file), "spiece.model"), error);
  const { path, message } = error.issues[0]!;
  throw unusable(`${file}: ${path.join(".")}`, "a WordPiece model as of BERT", message);
}

const isUnigram = (json: unknown): boolean =>
  z.object({ model: z.object({ type: z.literal("Unigram") }) }).safeParse(json).success;

/** What becomes a token as it stands, as a group that `split` keeps. */
function dividingExpression(tokens: readonly string[]): RegExp {
  const longestFirst = [...tokens].sort((a, b) => b.length - a.length);
  const escaped = longestFirst.map((token) => token.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`(${[MASK.source, ...escaped].join("|")})`);
}

const WHITE_SPACE = /\p{White_Space}/gu;
/** Category C but what divides lines and cells. */
const REMOVED = /[^\P{Cc}\t\n\r]|[\p{Cf}\p{Co}\p{Cs}\ufffd]/gu;
/** Those that `BertNormalizer` takes for Chinese. */
const IDEOGRAPHS =
  /[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u{20000}-\u{2a6df}\u{2a700}-\u{2b73f}\u{2b740}-\u{2b81f}\u{2b920}-\u{2ceaf}\u{2f800}-\u{2fa1f}]/gu;
/** A sign is a word. Those of ASCII that Unicode has as symbols count, too. */
const WORD = /[\p{P}$+<=>^`|~]|[^\p{P}$+<=>^`|~\s]+/gu;

function* wordsOf(text: string, normalizer: WordPieceFile["normalizer"]): Generator<string> {
  for (const [word] of normalized(text, normalizer).matchAll(WORD)) yield word;
}

function normalized(text: string, normalizer: WordPieceFile["normalizer"]): string {
  if (!normalizer) return text;
  const { lowercase, strip_accents: strip } = normalizer;
  const clean = text.replace(REMOVED, "").replace(WHITE_SPACE, " ").replace(IDEOGRAPHS, " $& ");
  const bare = (strip ?? lowercase) ? normalizeText(clean, "NFD").replace(/\p{Mn}/gu, "") : clean;
  // letter by letter: `toLowerCase` of a word treats a final sigma apart
  return lowercase ? bare.replace(/\P{ASCII}|[A-Z]+/gu, (letters) => letters.toLowerCase()) : bare;
}

const unusable = (where: string, expected: string, got: string): InputError =>
  new InputError({ where, expected, got, remedy: "use the tokenizer.json of a BERT model" });

/** transformers 5 saves no `spiece.model`. */
export const onlyJson = (where: string, cause: unknown): InputError =>
  new InputError(
    {
      where,
      expected: "T5's SentencePiece model",
      got: "only tokenizer.json",
      remedy:
        "make it of that file: reatt convert --model THIS-FOLDER --precision fp32 --out NEW-FOLDER",
    },
    { cause },
  );
