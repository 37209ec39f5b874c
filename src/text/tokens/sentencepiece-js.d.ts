/** The part of sentencepiece-js that reatt uses. The package has no types. */
declare module "sentencepiece-js" {
  /** An object of C++. */
  interface Native {
    delete(): void;
  }

  export class SentencePieceProcessor {
    /** The program, an instance for each processor. */
    readonly sentencepiece: {
      /** Its memory. */
      readonly HEAPU8: Uint8Array<ArrayBuffer>;
      readonly FS: { writeFile(path: string, bytes: Uint8Array): void; unlink(path: string): void };
      readonly StringView: new (text: string) => Native & { getView(): Native };
    };
    /** Its `status` reports whether a model was loaded; `load` does not. */
    readonly processor: {
      Load(path: Native): Native;
      status(): Native & { ToString(): string };
    };
    load(file: string): Promise<void>;
    encodeIds(text: string): number[];
    decodeIds(ids: readonly number[]): string;
  }
}
