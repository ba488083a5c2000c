/** What the console and the portal share: roles of operators, searches and suspensions. Imports nothing. */

/** `read-only` sees everything that `operator` sees, and changes nothing. */
export const operatorRoles = ['operator', 'read-only'] as const;
export type OperatorRole = (typeof operatorRoles)[number];

/** Of a search in the console: as long as an address may be. */
export const consoleSearchCharsMax = 254;

/** Of all keys, the newest that the console lists and searches, so that a search takes a tenth of a second. An id finds older ones too. */
export const searchedKeysMax = 100_000;

/** The longest reason of a suspension, in characters: fits into a mail, and into a line of the portal. */
export const reasonCharsMax = 500;

/** What a suspension does, as the command line and the console say it. */
export const suspensionEffects = {
  account: 'Its sessions are refused. Its apps and their keys keep working.',
  app: 'Its keys are refused, its webhooks receive nothing, and its members can only read. Pending deliveries are cancelled.',
  webhook: 'It receives nothing, and pending deliveries are cancelled.',
  key: 'It is refused.',
};

/** The kinds as they stand in addresses. */
export const suspendableKinds = {
  accounts: 'account',
  apps: 'app',
  webhooks: 'webhook',
  keys: 'key',
} as const;
