/** What we use of sentencepiece-js, which comes without types. */
declare module "sentencepiece-js" {
  export class SentencePieceProcessor {
    /** The native object behind it; `status` tells whether the model could be loaded, which `load` does not. */
    readonly processor: { status(): { ToString(): string; delete(): void } };
    load(file: string): Promise<void>;
    encodeIds(text: string): number[];
    encodePieces(text: string): string[];
    decodeIds(ids: readonly number[]): string;
  }
}
