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
