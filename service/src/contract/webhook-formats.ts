/** `json`: the signed request of docs/reference/deliveries.md. The others are messages for a channel of that platform. */
export const webhookFormats = ['json', 'discord', 'slack', 'teams'] as const;
export type WebhookFormat = (typeof webhookFormats)[number];
export type ChatFormat = Exclude<WebhookFormat, 'json'>;
