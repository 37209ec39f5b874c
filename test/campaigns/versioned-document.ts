/** A document in PostgreSQL of which a writer makes versions, beside readers. */

import { setTimeout as sleep } from "node:timers/promises";
import { InputError } from "../../src/io/errors.ts";
import type { Random } from "../../src/math/random.ts";
import { verifyIndex } from "../../src/retrieval/maintain.ts";
import { openIndex } from "../../src/retrieval/open-index.ts";
import type { Place } from "../../src/retrieval/places/place.ts";
import { connectStore, placeOf } from "../../src/retrieval/places/place-of.ts";
import { rank } from "../../src/retrieval/rank.ts";
import type { Passage } from "../../src/text/passage.ts";
import { encode, encodeText, header } from "../retrieval/support.ts";
import { Failed } from "./campaign.ts";

/** Synchronisations of a try. */
const ROUNDS = 4;
const QUESTION = { text: "w1 w2 w3", vectors: encodeText("w1 w2 w3") };

export type Counts = Record<"changes" | "failed changes" | "searches" | "failed searches", number>;

/** A document of which a collection has one version, and passages beside it. */
export class VersionedDocument {
  readonly #address: string;
  readonly #place: Place;
  readonly #counts: Counts;
  #isWriting = true;
  /** The versions that the collection may have: one, and another one after a failure. */
  #possible = [0];
  /** The ids beside it that the collection must have, and may have. */
  readonly #kept = new Set<string>();
  readonly #doubtful = new Set<string>();

  private constructor(address: string, place: Place, counts: Counts) {
    this.#address = address;
    this.#place = place;
    this.#counts = counts;
  }

  static async create(address: string, counts: Counts): Promise<VersionedDocument> {
    const place = placeOf(address, { isPatient: true });
    await place.build(versionOf(0), { header, encode });
    return new VersionedDocument(address, place, counts);
  }

  stop(): void {
    this.#isWriting = false;
  }

  async write(random: Random): Promise<void> {
    for (let version = 1; version <= ROUNDS; version++) {
      const before = this.#possible;
      const passages = versionOf(version);
      const ids = new Set(passages.map(({ id }) => id));
      const deleted = before.flatMap(versionOf).flatMap(({ id }) => (ids.has(id) ? [] : id));
      this.#possible = (await this.#change(() =>
        this.#place.exclusively(() => this.#place.add(passages, { header, encode, deleted })),
      ))
        ? [version]
        : [...before, version];
      const id = `beside ${version}`;
      this.#doubtful.add(id);
      const passage = { id, title: "", text: `w${version} beside` };
      const isAdded = await this.#change(() => this.#place.add([passage], { header, encode }));
      if (!isAdded) continue;
      if (random.integer(2) === 0) this.#keep(id);
      else if (await this.#change(() => this.#place.delete([id]))) this.#doubtful.delete(id);
    }
  }

  #keep(id: string): void {
    this.#doubtful.delete(id);
    this.#kept.add(id);
  }

  async #change(work: () => Promise<unknown>): Promise<boolean> {
    try {
      await work();
      this.#counts.changes++;
      return true;
    } catch (error) {
      checkLine(error);
      this.#counts["failed changes"]++;
      return false;
    }
  }

  async read(lambda: number | undefined): Promise<void> {
    await using index = await retried(() => openIndex(this.#address));
    const hybrid = lambda === undefined ? undefined : { lambda };
    const rest = { where: undefined, filter: undefined, minScore: undefined, signal: undefined };
    const request = { topK: 50, granularity: "passage", hybrid, ...rest } as const;
    while (this.#isWriting)
      try {
        const [found] = await index.snapshot((own) => rank(own, [QUESTION], request));
        this.#counts.searches++;
        checkOneVersion(found!.map(({ passage }) => passage));
      } catch (error) {
        if (error instanceof Failed) throw error;
        checkLine(error);
        this.#counts["failed searches"]++;
        await sleep(100);
      }
  }

  /** Compares the collection with what was reported, and removes it. */
  async check(): Promise<void> {
    const found = new Map<string, Passage>();
    await using reader = await this.#place.read();
    for await (const passage of reader.passages()) found.set(passage.id, passage);
    for (const id of this.#kept) if (!found.has(id)) throw new Failed("lost", id);
    const own = [...found.values()].filter(({ id }) => id.startsWith("d#"));
    const beside = [...found.keys()].filter((id) => !id.startsWith("d#"));
    for (const id of beside)
      if (!this.#kept.has(id) && !this.#doubtful.has(id)) throw new Failed("wrong", `has ${id}`);
    const version = checkOneVersion(own)!;
    if (!this.#possible.includes(version))
      throw new Failed("lost", `version ${version} instead of ${this.#possible.join(" or ")}`);
    if (own.length !== versionOf(version).length)
      throw new Failed("lost", `${own.length} passages of version ${version}`);
    const [damage] = await verifyIndex(this.#address);
    if (damage) throw new Failed("wrong", `${damage.path}: ${damage.problem}`);
    await this.#place[Symbol.asyncDispose]();
    await using store = await connectStore(this.#address);
    await store.drop();
  }
}

/** Other texts, ids and numbers of passages in each version. */
const versionOf = (version: number): Passage[] =>
  Array.from({ length: 50 - 5 * version }, (_, i) => ({
    id: i < 20 ? `d#${i}` : `d#${version}.${i}`,
    title: "",
    text: `w1 w${i} version ${version}`,
  }));

/** The version that passages of the document are of; undefined without one. */
function checkOneVersion(passages: readonly Passage[]): number | undefined {
  const own = passages.filter(({ id }) => id.startsWith("d#"));
  const versions = new Set(own.map(({ text }) => Number(text.split(" ").at(-1))));
  if (versions.size > 1) throw new Failed("wrong", `versions ${[...versions].join(" and ")}`);
  const [version] = versions;
  if (version === undefined) return undefined;
  const texts = new Map(versionOf(version).map(({ id, text }) => [id, text]));
  for (const { id, text } of own)
    if (texts.get(id) !== text) throw new Failed("wrong", `${id} has ${text}`);
  return version;
}

/** An error must be one line that says that the server is away. */
function checkLine(error: unknown): void {
  if (error instanceof InputError && error.code === "ERR_REATT_STORE_AWAY")
    if (!error.message.includes("\n")) return;
  throw error;
}

async function retried<Result>(work: () => Promise<Result>): Promise<Result> {
  for (;;)
    try {
      return await work();
    } catch (error) {
      checkLine(error);
      await sleep(100);
    }
}
