/**
 * KILT's scores of answers with their provenance.
 *
 * Source: Petroni et al. 2021, "KILT: a Benchmark for Knowledge Intensive Language Tasks", section
 * 4.2, and its evaluation script (https://github.com/facebookresearch/KILT).
 */

/**
 * R-precision of pages: with the R pages of one provenance, the share of them among the first R
 * distinct pages that were retrieved. Of several provenances the best counts.
 *
 *     R-precision = max over provenances G of |first |G| retrieved pages ∩ G| / |G|
 *
 * @param retrieved pages, best first; a page that occurs again does not count again
 * @param provenances sets of pages, each of which supports the answer
 *
 * @example
 * ```ts
 * pagePrecision(["Rhine", "Rhine", "Alps"], [["Rhine", "Alps"]]); // 1
 * ```
 */
export function pagePrecision(
  retrieved: readonly string[],
  provenances: readonly (readonly string[])[],
): number {
  const ranking = [...new Set(retrieved)];
  const precisions = provenances.map((provenance) => {
    const pages = new Set(provenance);
    const found = ranking.slice(0, pages.size).filter((page) => pages.has(page)).length;
    return pages.size === 0 ? 0 : found / pages.size;
  });
  return Math.max(0, ...precisions);
}
