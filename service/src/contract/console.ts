/** `read-only` sees everything that `operator` sees, and changes nothing. */
export const operatorRoles = ['operator', 'read-only'] as const;
export type OperatorRole = (typeof operatorRoles)[number];

/** Of a search in the console: as long as an address may be. */
export const consoleSearchCharsMax = 254;

/** Of all keys, the newest that the console lists and searches, so that a search takes a tenth of a second. An id finds older ones too. */
export const searchedKeysMax = 100_000;
