import { after } from 'node:test';
import { startCommand, type Command } from './command.ts';

/** `url` is empty without the role api. */
export type ServiceProcess = { command: Command; url: string; internalUrl: string };

/** Runs `orgdir serve` with one role, until the test file ends at the latest. */
export async function startProcess(
  role: 'api' | 'worker',
  env: Record<string, string>,
): Promise<ServiceProcess> {
  const command = startCommand(['serve'], { env: { ...env, ROLES: role } });
  let hasEnded = false;
  void command.ended.then(() => (hasEnded = true));
  after(async () => {
    if (!hasEnded) command.signal('SIGKILL');
    await command.ended;
  });
  const [, internalUrl = ''] = await command.waitFor(/^Metrics: +(\S+)\/metrics/m);
  const url = role === 'api' ? ((await command.waitFor(/^Serving at (\S+)/m))[1] ?? '') : '';
  return { command, url, internalUrl };
}
