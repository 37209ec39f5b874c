/** Results as JSON objects: the same from the command line, over HTTP and as a tool. */

import { z } from "zod";
import type { Hit, Phrase, Reply } from "../../reatt.ts";
import type { Explanation } from "../../retrieval/explain.ts";
import type { Passage } from "../../text/passage.ts";
import { placeInWords } from "../../text/place.ts";
import type { Field } from "./catalogue.ts";
import type { Found } from "./documents.ts";
import { METADATA } from "./requests.ts";

const id = z.string().describe("The id of the request.");

const collection = z.string().optional().describe("The collection that it is in, of several.");

const passage = {
  id: z.string(),
  title: z.string(),
  text: z.string(),
  document: z.string().optional().describe("The id of the document."),
  collection,
  place: z.string().optional().describe("Where it stands in its document: page 3."),
  link: z.string().optional().describe("The address of its document."),
  metadata: METADATA.optional().describe("Further fields of the passage."),
};

type Linked = Passage & Pick<Hit, "link">;

function passageToJson({ title, text, document, collection, metadata, link }: Linked) {
  const place = placeInWords(metadata);
  return {
    title,
    text,
    ...(document !== undefined && { document }),
    ...(collection !== undefined && { collection }),
    ...(place !== undefined && { place }),
    ...(link !== undefined && { link }),
    ...(metadata !== undefined && { metadata: metadata as z.output<typeof METADATA> }),
  };
}

const score = z
  .number()
  .describe(
    "The probability that the passage answers the question, if the model is calibrated; else what " +
      "the search ranks by.",
  );

const scores = z
  .object({ ranking: z.number(), similarity: z.number(), words: z.number().optional() })
  .optional()
  .describe(
    "With explain: what the search ranks by; the retrieval score; with hybrid search BM25 / terms " +
      "of the question.",
  );

const duplicates = z
  .array(
    z.object({
      id: passage.id,
      title: z.string(),
      document: passage.document,
      link: passage.link,
    }),
  )
  .optional()
  .describe("Passages that nearly repeat this one, which stands for them.");

/** The schema of {@link retrievalToJson}. */
export const RETRIEVAL = z.object({
  id,
  results: z.array(z.object({ ...passage, score, scores, duplicates })),
});

const characters = z.object({ start: z.int(), end: z.int() });

const place = {
  id: passage.id.describe("The id of the passage."),
  title: z.string(),
  document: passage.document,
  collection,
  page: z.number().optional(),
  lines: z.string().optional(),
  link: z.string().optional().describe("The address of the document."),
};

/** A block that answers. */
export const EVIDENCE = z.object({
  ...place,
  text: z.string(),
  kind: z.string().describe("paragraph, list, table, code …"),
  score: z.number().describe("The probability that the block answers, if the model is calibrated."),
  start: z.int().describe("Where the block is in the text of the passage."),
  end: z.int(),
  span: characters.optional().describe("Where text has the answer."),
});

/** The schema of {@link replyToJson}. */
export const REPLY = z.object({
  id,
  answer: z.string().describe("Empty if none is probable; there can be evidence without it."),
  tokenIds: z.array(z.int()),
  confidence: z
    .number()
    .describe(
      "The probability that the answer is right, if the model is calibrated; else the geometric " +
        "mean of the probabilities of the tokens. From the reader marginal: the probability of " +
        "the answer.",
    ),
  abstained: z.boolean(),
  source: z
    .object({
      ...place,
      sentence: z.string().describe("The sentence with the answer, or the title."),
      span: characters.describe("Where sentence has the answer."),
    })
    .optional()
    .describe("Where the answer stands."),
  evidence: z.array(EVIDENCE).describe("The blocks that most probably answer, best first."),
  unknown: z
    .array(z.string())
    .optional()
    .describe("Names, numbers and codes of the question that no passage has."),
  error: z.string().optional().describe("Why the question could not be answered."),
  passages: z.array(
    z.object({
      ...passage,
      score: score.optional(),
      scores,
      duplicates,
      attention: z
        .number()
        .describe(
          "The share of the attention; the shares sum to 1. 0 if the passage was not read. From " +
            "the reader marginal: the probability that the answer comes from this passage.",
        ),
      cutTokens: z.int().optional().describe("Its tokens that were not read."),
      span: z
        .object({ start: z.int(), end: z.int() })
        .optional()
        .describe("Where the answer occurs in text, in UTF-16 code units."),
    }),
  ),
});

const span = z.object({ start: z.int(), end: z.int() }).optional();

/** The schema of {@link explanationsToJson}. */
export const EXPLANATIONS = z.object({
  id,
  results: z.array(
    z.object({
      id: passage.id,
      collection,
      score: z.number().describe("The retrieval score: the mean of the scores of the tokens."),
      tokens: z.array(
        z.object({
          token: z.string(),
          span: span.describe("The characters of the question."),
          score: z.number().describe("The product of the vectors of both tokens."),
          match: z
            .object({ token: z.string(), field: z.enum(["title", "text"]).optional(), span })
            .describe("The token of the passage that matches best, and its characters."),
        }),
      ),
    }),
  ),
});

/** The schema of {@link documentToJson}. */
export const DOCUMENT = z.object({
  document: z.string().describe("Its path or its id."),
  collection,
  link: passage.link,
  passages: z.array(z.object(passage)).describe("In the order of the document."),
  omitted: z.int().describe("Passages that did not fit into maxBytes."),
});

/** The schema of several documents. */
export const DOCUMENTS = z.object({
  documents: z.array(DOCUMENT),
  omitted: z.array(z.string()).describe("Documents that did not fit; the first 100 of them."),
});

/** The documents of an index. */
export const DOCUMENT_LIST = z.object({
  documents: z.array(z.object({ document: DOCUMENT.shape.document, passages: z.int() })),
  omitted: z.int().describe("Documents beyond the first 1,000."),
});

/** Questions to begin with. */
export const QUESTIONS = z.object({
  questions: z.array(z.string()).describe("At most three, which the passages answer."),
});

const value = z.union([z.string(), z.number(), z.boolean()]);

/** What an index has. */
export const STATUS = z.object({
  title: z.string(),
  description: z.string().optional(),
  passages: z.int(),
  documents: z.int(),
  collections: z
    .array(
      z.object({
        name: z.string(),
        passages: z.int(),
        documents: z.int(),
        changed: z.string().optional(),
      }),
    )
    .optional()
    .describe("The collections, if there are several."),
  generation: z.int().describe("Grows by 1 with each change of the index."),
  changed: z
    .string()
    .optional()
    .describe("When the index in a folder was last changed, in ISO 8601."),
  fields: z
    .array(
      z.object({
        name: z.string(),
        type: z.enum(["text", "number", "true or false", "mixed"]),
        passages: z.int().describe("Passages that have the field."),
        values: z
          .array(z.object({ value, passages: z.int() }))
          .optional()
          .describe("Absent if there are more than 200."),
        smallest: z.union([z.string(), z.number()]).optional(),
        largest: z.union([z.string(), z.number()]).optional(),
      }),
    )
    .describe("The fields that where can compare."),
});

export type Status = z.output<typeof STATUS>;

export const fieldToJson = ({ values, ...field }: Field): Status["fields"][number] => ({
  ...field,
  ...(values && { values: [...values] }),
});

/** A document with its passages. */
export const documentToJson = ({
  document,
  collection,
  link,
  passages,
  omitted,
}: Found): z.output<typeof DOCUMENT> => ({
  document,
  ...(collection !== undefined && { collection }),
  ...(link !== undefined && { link }),
  passages: passages.map((one) => ({ id: one.id, ...passageToJson(one) })),
  omitted,
});

/** A reply as `reatt answer --json` prints it. */
export function replyToJson(
  id: string,
  {
    answer,
    tokenIds,
    confidence,
    abstained,
    source,
    evidence,
    unknown,
    error,
    passages,
  }: Reply<Passage & Partial<Hit>>,
): z.output<typeof REPLY> {
  return {
    id,
    answer,
    tokenIds: [...tokenIds],
    confidence,
    abstained,
    ...(source && { source: { ...source, span: { ...source.span } } }),
    evidence: evidence.map(({ signals: _, ...block }) => ({ ...block })),
    ...(unknown && { unknown: [...unknown] }),
    ...(error && { error: error.message }),
    passages: passages.map((passage) => ({
      id: passage.id,
      ...(passage.score !== undefined && { score: passage.score }),
      ...(passage.scores && { scores: { ...passage.scores } }),
      ...(passage.duplicates && { duplicates: passage.duplicates.map((one) => ({ ...one })) }),
      attention: passage.attention,
      ...(passage.span && { span: passage.span }),
      ...(passage.cutTokens !== undefined && { cutTokens: passage.cutTokens }),
      ...passageToJson(passage),
    })),
  };
}

/** The phrases of a question as `reatt answer --reader none --json` prints them. */
export function phrasesToJson(id: string, phrases: readonly Phrase[]): object {
  return {
    id,
    answer: phrases[0]?.answer ?? "",
    passages: phrases.map(({ answer, span, ...hit }) => ({
      id: hit.id,
      answer,
      score: hit.score,
      span,
      ...passageToJson(hit),
    })),
  };
}

/** Why passages were found. */
export function explanationsToJson(
  id: string,
  passages: readonly { readonly id: string; readonly collection?: string | undefined }[],
  explanations: readonly Explanation[],
): object {
  return { id, results: explanations.map((found, i) => ({ ...passages[i]!, ...found })) };
}

/** The hits of a question with their texts. */
export function retrievalToJson(id: string, hits: readonly Hit[]): z.output<typeof RETRIEVAL> {
  return {
    id,
    results: hits.map((hit) => ({
      id: hit.id,
      score: hit.score,
      ...(hit.scores && { scores: { ...hit.scores } }),
      ...(hit.duplicates && { duplicates: hit.duplicates.map((one) => ({ ...one })) }),
      ...passageToJson(hit),
    })),
  };
}
