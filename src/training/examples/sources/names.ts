/** The names of the sources of examples. */

/** Sources that need documents alone. */
export const LABEL_FREE_SOURCES = ["spans", "crops", "titles", "phrases", "generated"] as const;

/** The label-free sources, questions with answers, and relevance labels. */
export const SOURCES = [...LABEL_FREE_SOURCES, "questions", "labels"] as const;

export type LabelFreeName = (typeof LABEL_FREE_SOURCES)[number];
export type SourceName = (typeof SOURCES)[number];

export const isLabelFree = (name: SourceName): name is LabelFreeName =>
  (LABEL_FREE_SOURCES as readonly SourceName[]).includes(name);
