/** An index as a collection of a store. */

import { crc32 } from "node:zlib";
import { InputError } from "../../../io/errors.ts";
import type { Passage } from "../../../text/passage.ts";
import type { IndexHeader } from "../../index/format/manifest.ts";
import type { IndexInfo } from "../../index/maintain/info.ts";
import type { Damage } from "../../index/maintain/verify.ts";
import { bitsOption } from "../../index/write/automatic-bits.ts";
import type { TokenIndex } from "../../search/token-index.ts";
import type {
  AddRequest,
  BuildRequest,
  IndexReader,
  OpenRequest,
  Passages,
  Place,
  PlaceOptions,
  Replacing,
} from "../place.ts";
import { storeInfo, verifyStore } from "./check-store.ts";
import { beginExclusive } from "./exclusive-store.ts";
import { importPassages } from "./import.ts";
import { checkUnfinished } from "./import-parts.ts";
import { openInStore } from "./open-store-index.ts";
import { findProperties, readProperties } from "./properties.ts";
import { IMPORT_PAUSES, retrying, SEARCH_PAUSES } from "./retry.ts";
import { checkStorable, isStorable } from "./storable.ts";
import type { Store } from "./store.ts";

/** The name of the record of a synchronised folder. */
const FOLDER = "folder";
/** Ids in one call of a store. */
const BATCH = 1_000;

export class StorePlace implements Place {
  readonly address: string;
  readonly #connect: () => Promise<Store>;
  readonly #options: PlaceOptions;
  #connected: Promise<Store> | undefined;
  /** While this place synchronises. */
  #exclusive: Store | undefined;

  /** @param connect opens the collection, as often as it is called */
  constructor(address: string, connect: () => Promise<Store>, options: PlaceOptions) {
    this.address = address;
    this.#connect = connect;
    this.#options = options;
  }

  get name(): string {
    return this.address.replace(/:\/\/([^:@/]*):[^@/]*@/, "://$1@");
  }

  async findHeader(): Promise<IndexHeader | undefined> {
    return (await findProperties(await this.#store()))?.header;
  }

  async header(): Promise<IndexHeader> {
    return (await readProperties(await this.#store())).header;
  }

  open(options: OpenRequest): Promise<TokenIndex> {
    return openInStore(async () => retrying(await this.#connect(), SEARCH_PAUSES), options);
  }

  async info(): Promise<IndexInfo> {
    return storeInfo(await this.#store());
  }

  async verify(): Promise<Damage[]> {
    return verifyStore(await this.#store(), this.#options.signal);
  }

  async checkReplaceable({ replace, shard }: Replacing): Promise<void> {
    if (!replace && !shard) await checkUnfinished(await this.#store());
  }

  async build(passages: Passages, { bits, replace, ...options }: BuildRequest): Promise<void> {
    if (options.header.states) throw noStates(this.name);
    const store = await this.#store();
    if (replace) await store.drop();
    const { signal } = this.#options;
    const chosen = { bits: bitsOption({ bits }), isImport: true };
    await importPassages(store, passages, { ...options, ...chosen, signal });
  }

  async add(passages: Passages | undefined, options: AddRequest): Promise<void> {
    const { deleted = [], labels: _, ...keys } = options;
    const { signal } = this.#options;
    const chosen = { bits: undefined, isImport: false };
    if (passages)
      await importPassages(await this.#store(), passages, { ...keys, ...chosen, signal });
    if (deleted.length > 0) await this.delete(deleted);
  }

  async delete(ids: AsyncIterable<string> | Iterable<string>): Promise<number> {
    const store = await this.#store();
    await readProperties(store);
    let deleted = 0;
    for await (const batch of batches(ids)) {
      this.#options.signal?.throwIfAborted();
      deleted += await store.delete(batch.filter(isStorable));
    }
    return deleted;
  }

  checkPassage(passage: Passage, where: string): void {
    checkStorable(passage, where);
  }

  async generation(): Promise<number | undefined> {
    const store = await this.#store();
    if (!(await findProperties(store))) return undefined;
    return crc32(JSON.stringify(await store.statistics()));
  }

  async read(): Promise<IndexReader> {
    const store = await this.#store();
    return {
      find: async (id) => (await store.get([id]))[0]?.passage,
      async *ids() {
        for await (const { id } of store.matching({})) yield id;
      },
      async [Symbol.asyncDispose]() {},
    };
  }

  async record(): Promise<string | undefined> {
    return (await this.#store()).record(FOLDER);
  }

  async writeRecord(text: string): Promise<void> {
    const store = await this.#store();
    // Before the first import there is no collection, and nothing to remember.
    if (await findProperties(store)) await store.writeRecord(FOLDER, text);
  }

  async exclusively<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#exclusive = await beginExclusive(await this.#store());
    try {
      return await work();
    } finally {
      this.#exclusive = undefined;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const store = await this.#connected?.catch(() => undefined);
    await store?.[Symbol.asyncDispose]();
  }

  async #store(): Promise<Store> {
    if (this.#exclusive) return this.#exclusive;
    const { isPatient, signal } = this.#options;
    const pauses = isPatient ? IMPORT_PAUSES : SEARCH_PAUSES;
    this.#connected ??= this.#connect().then((store) => retrying(store, pauses, signal));
    return this.#connected;
  }
}

async function* batches(ids: AsyncIterable<string> | Iterable<string>): AsyncGenerator<string[]> {
  let batch: string[] = [];
  for await (const id of ids) {
    batch.push(id);
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

const noStates = (where: string): InputError =>
  new InputError({
    code: "ERR_REATT_BAD_OPTION",
    where,
    expected: "no states for reading, which a store does not keep",
    got: "keepStates",
    remedy: "leave it out",
  });
