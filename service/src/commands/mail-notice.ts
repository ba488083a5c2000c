import { randomUUID } from 'node:crypto';
import type { Config } from '../settings/config.ts';
import { isProviderIdentity } from '../sign-in/provider-identity.ts';

/** Mails a notice to each address, and returns those whose server accepted it. */
export async function mailNotice(
  config: Pick<Config, 'mail'>,
  addresses: string[],
  notice: { subject: string; text: string },
): Promise<string[]> {
  const reachable = addresses.filter((email) => !isProviderIdentity(email));
  if (!config.mail || reachable.length === 0) return [];
  const { createMailer } = await import('../runtime/mail.ts');
  const mailer = createMailer(config.mail);
  const sent = await Promise.all(
    reachable.map(async (to) => {
      const { kind } = await mailer.send({ id: randomUUID(), to, ...notice });
      return kind === 'sent' ? [to] : [];
    }),
  );
  mailer.close();
  return sent.flat();
}
