/** The client's command as its users run it: the built package, with a configuration folder of the test. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach } from 'node:test';
import { fileURLToPath } from 'node:url';
import { isAlive, startCommand, type Command } from '../../../service/test/support/command.ts';

const file = fileURLToPath(new URL('../../src/command.ts', import.meta.url));
/** Of the run: reading the TypeScript of the command takes two thirds of its start. */
const { NODE_COMPILE_CACHE } = process.env;
const compileCache = NODE_COMPILE_CACHE ? { NODE_COMPILE_CACHE } : {};
const started: Command[] = [];
afterEach(async () => {
  for (const { pid, ended } of started.splice(0)) {
    if (isAlive(pid)) process.kill(pid, 'SIGKILL');
    await ended;
  }
});

export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'orgdir-client-'));
  after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

const config = await temporaryFolder();

/** Without input, standard input is empty; with null, it stays open. It is ended with the test. */
export function startClient(
  args: string[],
  { env = {}, input = '' }: { env?: Record<string, string>; input?: string | null } = {},
): Command {
  const command = startCommand(args, {
    env: { ...compileCache, XDG_CONFIG_HOME: config, ...env },
    input: input ?? undefined,
    command: file,
  });
  started.push(command);
  return command;
}

/** The lines of this type that were printed with `--json`, once there are so many. */
export async function lines(command: Command, type: string, count = 1): Promise<any[]> {
  await command.waitFor(new RegExp(`(^\\{"type":"${type}".*\\n(.*\\n)*?){${count}}`, 'm'));
  const printed = command.stdout.split('\n').filter((line) => line.startsWith('{'));
  return printed.map((line) => JSON.parse(line)).filter((line) => line.type === type);
}
