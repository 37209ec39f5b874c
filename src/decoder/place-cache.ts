/** Where tokens of the passages read last stand, as state-cache.ts has their states. */

import { Recent } from "../math/recent.ts";
import type { PassageInput } from "../text/passage.ts";
import { type TokenPlace, tokenPlaces } from "../text/tokens/token-places.ts";
import type { Tokenizer } from "../text/tokens/tokenizer.ts";

type Places = readonly (TokenPlace | undefined)[];

/** A passage of 200 tokens takes 50 kB. */
const CACHE_BYTES = 32 * 2 ** 20;
const PLACE_BYTES = 250;

export class PlaceCache {
  readonly #places = new Recent<Places>(
    CACHE_BYTES,
    ({ length }, key) => PLACE_BYTES * length + 2 * key.length,
  );

  /** As `tokenPlaces`. */
  of(tokenizer: Tokenizer, passage: PassageInput, ids: readonly number[]): Places {
    const { title = "", text } = passage;
    return this.#places.of(`${ids.length} ${title.length} ${title}${text}`, () =>
      tokenPlaces(tokenizer, passage, ids),
    );
  }
}
