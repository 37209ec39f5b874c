/**
 * Conversations in records: who says what, without the keys around it. ChatGPT, Claude, OpenAI's
 * and ShareGPT's messages, Slack, Telegram, and transcripts with speakers.
 */

import { type Fields, isFields } from "./fields.ts";

/** Fields that hold the messages of a conversation. */
const NAMES = new Set(
  "messages chat_messages conversation conversations turns dialog dialogue utterances".split(" "),
);
const ROLES = /^(?:user|assistant|system|tool|developer|human|gpt|bot|ai|model)$/i;
const SPEAKERS = "role speaker from sender author user username name".split(" ");
const TEXTS = ["text", "content", "parts", "value", "message", "body"];
const TIMES = ["date", "time", "timestamp", "created_at"];

/** The field of a record that is a conversation. */
export function conversationIn(record: Fields): { name: string; text: string } | undefined {
  for (const [name, value] of Object.entries(record)) {
    const messages = name === "mapping" && isFields(value) ? nodesOf(value) : value;
    const text = conversationOf(messages, NAMES.has(name) || name === "mapping");
    if (text !== undefined) return { name, text };
  }
  return undefined;
}

/**
 * `user: When does it leave?`, a message below the other. Undefined for another value.
 *
 * @param isNamed whether its name says that it is a conversation; else only roles and Slack do
 */
export function conversationOf(value: unknown, isNamed = false): string | undefined {
  if (!Array.isArray(value) || value.length === 0 || !value.every(isFields)) return undefined;
  const isClear = value.every((one) => ROLES.test(String(one.role)) || isSlack(one));
  if (!isNamed && !isClear) return undefined;
  const lines = value.map(lineOf);
  const spoken = lines.filter((line) => line !== undefined && line !== "");
  return spoken.length === 0 || lines.includes(undefined) ? undefined : spoken.join("\n");
}

/** Empty for a message without text; undefined for what is no message. */
function lineOf(message: Fields): string | undefined {
  const speaker = speakerOf(message);
  const name = TEXTS.find((one) => message[one] !== undefined);
  if (speaker === undefined && name === undefined) return undefined;
  const text = textOf(name === undefined ? undefined : message[name]).trim();
  if (text === "") return "";
  const time = TIMES.map((one) => message[one]).find((one) => typeof one === "string");
  const shown = isSlack(message) ? ofSlack(text) : text;
  return [time, speaker && `${speaker}:`, shown].filter(Boolean).join(" ");
}

function speakerOf(message: Fields): string | undefined {
  const { user_profile: profile } = message;
  const values = [profile, ...SPEAKERS.map((name) => message[name])];
  for (const value of values) {
    if (typeof value === "string" && value !== "") return value;
    if (!isFields(value)) continue;
    const inner = [value.real_name, value.name, value.role, value.username];
    const name = inner.find((one) => typeof one === "string" && one !== "");
    if (name !== undefined) return name as string;
  }
  return undefined;
}

/** A text, or its parts: those of Telegram go on within a line. */
function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (isFields(value)) {
    const name = TEXTS.find((one) => value[one] !== undefined);
    return name === undefined ? "" : textOf(value[name]);
  }
  if (!Array.isArray(value)) return "";
  const isMixed = value.some((one) => typeof one === "string") && value.some(isFields);
  return value
    .map(textOf)
    .filter((text) => text !== "")
    .join(isMixed ? "" : "\n");
}

/** The messages of ChatGPT's tree, each below the one that it answers. */
function nodesOf(mapping: Fields): Fields[] | undefined {
  const nodes = Object.entries(mapping);
  if (nodes.length === 0 || !nodes.every(([, node]) => isFields(node) && "message" in node))
    return undefined;
  const answers = new Map<unknown, string[]>();
  for (const [id, node] of nodes) {
    const { parent } = node as Fields;
    const above = typeof parent === "string" && Object.hasOwn(mapping, parent) ? parent : undefined;
    if (!answers.has(above)) answers.set(above, []);
    answers.get(above)!.push(id);
  }
  const open = [...(answers.get(undefined) ?? [])].reverse();
  const messages: Fields[] = [];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    const { message } = mapping[id] as Fields;
    if (isFields(message)) messages.push(message);
    open.push(...(answers.get(id) ?? []).reverse());
  }
  return messages;
}

const isSlack = ({ type, ts, text }: Fields): boolean =>
  type === "message" && typeof text === "string" && /^\d{10}\.\d+$/.test(String(ts));

/** `&amp;`, `<@U1>`, `<#C1|general>`, `<https://…|label>`. */
const ofSlack = (text: string): string =>
  text
    .replace(/<([@#!]?)([^<>|]*)(?:\|([^<>]*))?>/g, (_, mark, target, label) =>
      `${mark === "!" ? "@" : mark}${label || target}`.replace(/^([@#])[@#]/, "$1"),
    )
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
