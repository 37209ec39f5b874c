/** An index in a folder (index/). */

import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { IndexHeader } from "../../index/format/manifest.ts";
import { findManifest, manifestPath, readManifest } from "../../index/format/manifest.ts";
import { findAlive } from "../../index/format/segment.ts";
import { openSnapshot } from "../../index/format/snapshot.ts";
import { folderInfo, type IndexInfo } from "../../index/maintain/info.ts";
import { addPassages, deleteFromFolder } from "../../index/maintain/update.ts";
import { type Damage, verifyFolder } from "../../index/maintain/verify.ts";
import { bitsOption } from "../../index/write/automatic-bits.ts";
import { buildIndex } from "../../index/write/build.ts";
import { forecastBuild } from "../../index/write/forecast.ts";
import { checkReplaceable } from "../../index/write/transaction.ts";
import type { TokenIndex } from "../../search/token-index.ts";
import type {
  AddRequest,
  BuildRequest,
  FolderAbilities,
  IndexReader,
  OpenRequest,
  Passages,
  Place,
  PlaceOptions,
  Replacing,
} from "../place.ts";
import { openFolder } from "./open-folder.ts";
import { readSyncRecord, whileSynchronising, writeSyncRecord } from "./sync-files.ts";

export class FolderPlace implements Place {
  readonly address: string;
  readonly #options: PlaceOptions;

  constructor(path: string, options: PlaceOptions) {
    this.address = options.from === undefined ? path : resolve(options.from, path);
    this.#options = options;
  }

  get name(): string {
    return this.address;
  }

  readonly folder: FolderAbilities = {
    forecast: (passages, options) => forecastBuild(passages, { ...options, ...this.#write }),
    changeTime: async () => (await stat(manifestPath(this.address))).mtime.toISOString(),
  };

  async findHeader(): Promise<IndexHeader | undefined> {
    return (await findManifest(this.address))?.header;
  }

  async header(): Promise<IndexHeader> {
    return (await readManifest(this.address)).header;
  }

  open(options: OpenRequest): Promise<TokenIndex> {
    return openFolder(this.address, options);
  }

  info(): Promise<IndexInfo> {
    return folderInfo(this.address);
  }

  verify(): Promise<Damage[]> {
    return verifyFolder(this.address, this.#options.signal);
  }

  checkReplaceable({ replace = false }: Replacing): Promise<void> {
    return checkReplaceable(this.address, replace);
  }

  build(passages: Passages, options: BuildRequest): Promise<void> {
    return buildIndex(passages, { ...options, ...this.#write, bits: bitsOption(options) });
  }

  async add(passages: Passages | undefined, options: AddRequest): Promise<void> {
    const { deleted = [], labels = [] } = options;
    if (passages || labels.length > 0) await addPassages(passages, { ...options, ...this.#write });
    else await this.delete(deleted);
  }

  delete(ids: AsyncIterable<string> | Iterable<string>): Promise<number> {
    return deleteFromFolder(ids, this.#write);
  }

  checkPassage(): void {}

  async generation(): Promise<number | undefined> {
    return (await findManifest(this.address))?.generation;
  }

  async read(): Promise<IndexReader> {
    const snapshot = await openSnapshot(this.address);
    const { segments } = snapshot;
    return {
      async find(id) {
        const found = await findAlive(segments, id);
        return found && segments[found.position]!.passage(found.ordinal);
      },
      async *ids() {
        for (const segment of segments)
          for (let ordinal = 0; ordinal < segment.record.passages; ordinal++)
            if (segment.isAlive(ordinal)) yield (await segment.passage(ordinal)).id;
      },
      [Symbol.asyncDispose]: () => snapshot[Symbol.asyncDispose](),
    };
  }

  record(): Promise<string | undefined> {
    return readSyncRecord(this.address);
  }

  writeRecord(text: string): Promise<void> {
    return writeSyncRecord(this.address, text);
  }

  exclusively<Result>(work: () => Promise<Result>): Promise<Result> {
    return whileSynchronising(this.address, this.#options, work);
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  /** What every change is given. */
  get #write() {
    const { wait, signal } = this.#options;
    return { directory: this.address, wait, signal };
  }
}
