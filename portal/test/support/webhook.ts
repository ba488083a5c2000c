/** Creates an app with a webhook to a receiver, through the portal's API. */
import { create } from './create.ts';
import type { Person } from './portal-browser.ts';

export type OwnWebhook = {
  appId: string;
  webhookId: string;
  secret: string;
  /** The path of the webhook page, below `/profile/developer`. */
  path: string;
};

export async function makeWebhook(
  person: Person,
  url: string,
  options: { events?: string[] } = {},
): Promise<OwnWebhook> {
  const app = await create(person, '/apps', { name: 'Announcer' });
  const webhook = await create(person, `/apps/${app.id}/webhooks`, { url, ...options });
  return {
    appId: app.id,
    webhookId: webhook.id,
    secret: webhook.secret,
    path: `/apps/${app.id}/webhooks/${webhook.id}`,
  };
}
