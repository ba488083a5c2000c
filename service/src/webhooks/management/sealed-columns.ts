/** The columns with encrypted secrets of webhooks. */
import { sql } from '../../database/database.ts';
import type { SealedTable } from '../../database/sealed-secrets.ts';
import { urlOwner } from '../sending/chat-platforms.ts';
import { headersOwner } from '../sending/own-headers.ts';

export const webhookSecrets: SealedTable = {
  name: 'webhooks',
  key: 'id',
  columns: [
    { name: 'secret', owner: (id) => id },
    {
      name: 'previous_secret',
      owner: (id) => id,
      neededIf: sql`previous_secret_expires_at > now()`,
    },
    { name: 'own_headers', owner: headersOwner },
    { name: 'sealed_url', owner: urlOwner },
  ],
};
