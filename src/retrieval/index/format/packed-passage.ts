/**
 * The stored form of a passage: its JSON, compressed on its own (RFC 1951), so that each passage
 * can be read by position.
 */

import { deflateRawSync, inflateRawSync } from "node:zlib";
import type { Passage } from "../../../text/passage.ts";

export const packPassage = ({ id, title, text }: Passage): Buffer =>
  deflateRawSync(JSON.stringify({ id, title, text }));

export const unpackPassage = (packed: Uint8Array): Passage =>
  JSON.parse(inflateRawSync(packed).toString());
