/** Names of models: a folder, a repository of the Hugging Face hub, or the embedded model. */

import { inPackage } from "../io/package-folder.ts";

/** The folder of the model that is part of the package, `models/reatt-mini`. */
export const EMBEDDED_MODEL: string = inPackage("models", "reatt-mini");

/** A repository of the hub, at a revision. */
export interface HubModel {
  /** `ORG/NAME` */
  readonly repository: string;
  /** A branch, a tag or a commit. */
  readonly revision: string;
}

const DEFAULT_REVISION = "main";

/** Words of letters, digits, `-`, `_` and `.`, which neither begin nor end with a sign. */
const WORD = String.raw`\w(?:[\w.-]*\w)?`;
const HUB_NAME = new RegExp(`^(${WORD}/${WORD})(?:@(${WORD}(?:/${WORD})*))?$`);

/** Reads `ORG/NAME` or `ORG/NAME@REVISION`. Undefined for a text that is no name of the hub. */
export function parseHubName(text: string): HubModel | undefined {
  const [, repository, revision = DEFAULT_REVISION] = HUB_NAME.exec(text) ?? [];
  if (repository === undefined || text.includes("..") || repository.includes("--"))
    return undefined;
  return { repository, revision };
}

/** `ORG/NAME`, with `@REVISION` unless it is the default. */
export const hubName = ({ repository, revision }: HubModel): string =>
  revision === DEFAULT_REVISION ? repository : `${repository}@${revision}`;

/** A commit: the SHA-1 of git as 40 hexadecimal digits. */
export const isCommit = (revision: string): boolean => /^[\da-f]{40}$/.test(revision);
