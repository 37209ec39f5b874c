/** The part of sentencepiece-js that reatt uses. The package has no types. */
declare module "sentencepiece-js" {
  export class SentencePieceProcessor {
    /** The native object. Its `status` reports whether the model was loaded; `load` does not. */
    readonly processor: { status(): { ToString(): string; delete(): void } };
    load(file: string): Promise<void>;
    encodeIds(text: string): number[];
    decodeIds(ids: readonly number[]): string;
  }
}
