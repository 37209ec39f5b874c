/** The codes of `InputError`, each with the status of a reply over HTTP. */

/**
 * The status of a reply over HTTP for each code of an `InputError`. 400: whoever asks can mend it.
 * 409 and 503: it can work later. 500 and 507: whoever runs the program must mend it.
 *
 * Source: RFC 9110, section 15; 507: RFC 4918.
 */
export const ERROR_STATUSES = {
  /** A value, a question, a record or a file is not what it should be. */
  ERR_REATT_BAD_INPUT: 400,
  /** An option is unknown, missing or out of range. */
  ERR_REATT_BAD_OPTION: 400,
  /** A condition does not fit the fields of the passages. */
  ERR_REATT_BAD_CONDITION: 400,
  /** A file or folder has more than may be read of one: bytes, records, levels or time. */
  ERR_REATT_TOO_LARGE: 413,
  /** A file or folder does not exist. */
  ERR_REATT_NO_FILE: 500,
  /** The system does not allow it. */
  ERR_REATT_NO_PERMISSION: 500,
  /** Too many files are open. */
  ERR_REATT_TOO_MANY_FILES: 503,
  /** The disk is full. */
  ERR_REATT_DISK_FULL: 507,
  /** There is no index in the folder. */
  ERR_REATT_NO_INDEX: 500,
  /** There is an index in the folder, and it may not be replaced. */
  ERR_REATT_INDEX_EXISTS: 409,
  /** There is a model or a run in the folder, and it may not be replaced. */
  ERR_REATT_FOLDER_EXISTS: 409,
  /** A file of the index is damaged or missing. */
  ERR_REATT_DAMAGED_INDEX: 500,
  /** The index was made by another model. */
  ERR_REATT_OTHER_MODEL: 500,
  /** Another process writes there. */
  ERR_REATT_BUSY: 409,
  /** There is no model in the folder or in the cache. */
  ERR_REATT_NO_MODEL: 500,
  /** The hub cannot be reached, or does not answer as a hub does. */
  ERR_REATT_NO_HUB: 500,
  /** The server of a store does not answer. */
  ERR_REATT_STORE_AWAY: 503,
  /** An optional package is not installed. */
  ERR_REATT_NO_PACKAGE: 500,
  /** The model or the index is closed. */
  ERR_REATT_CLOSED: 500,
  /** A reader of documents failed where it should not; `cause` has the stack. */
  ERR_REATT_DEFECT: 500,
} as const;

/** A code of an `InputError`. `docs/ERRORS.md` says what each means. */
export type ErrorCode = keyof typeof ERROR_STATUSES;
