/** The result of an adaptation. */

import type { CutText } from "../../retrieval/index/format/manifest.ts";
import type { TrainingResult } from "../run/events.ts";
import type { AdaptationPlan } from "./plan.ts";

export interface AdaptationResult {
  /** What the run decided before it began. */
  readonly plan: AdaptationPlan;
  /** Undefined after a dry run. */
  readonly training?: TrainingResult | undefined;
  /**
   * Folder of the index of the adapted model. Undefined if an index of the
   * original model remains valid, after a dry run, and if
   * training was stopped before its end.
   */
  readonly index?: string | undefined;
  /** The text over the limit of the index, which cannot be found. Undefined if there is none. */
  readonly cut?: CutText | undefined;
  /** What the adaptation brought, in a line. Undefined while the run is not complete. */
  readonly verdict?: string | undefined;
}
