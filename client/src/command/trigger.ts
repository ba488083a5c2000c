/** Sends a signed sample of an event to a handler on this machine, without a service. */
import { randomUUID } from 'node:crypto';
import { CommandError } from './command-error.ts';
import { checkEventName } from './event-names.ts';
import { forward, printReport } from './forward.ts';
import { printSecret } from './listen.ts';
import { samples } from './samples.ts';
import { ownSecret } from './secrets.ts';

export type Triggering = { target: URL; serviceName: string; json: boolean };

/** Throws unless the handler responds with a 2xx status. */
export async function trigger(
  name: string,
  { target, serviceName, json }: Triggering,
): Promise<void> {
  const event = checkEventName(name);
  const own = await ownSecret();
  printSecret(own, json);
  const id = randomUUID();
  const content = { id, event, createdAt: new Date().toISOString(), data: samples[event] };
  const text = JSON.stringify(content);
  const report = await forward({ id, event, text }, { target, secret: own.secret, serviceName });
  printReport(report, json);
  if (report.status === null || report.status < 200 || report.status > 299)
    throw new CommandError(
      'not_accepted',
      `the handler at ${target.href} did not accept the event: ${report.status ?? 'no response'}`,
    );
}
