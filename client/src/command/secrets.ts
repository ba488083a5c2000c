/** The secrets with which deliveries are signed and verified. No error contains one. */
import { randomBytes } from 'node:crypto';
import { link, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { cannotStart, CommandError, invalidArguments } from './command-error.ts';

/** A webhook has two at most; several webhooks may send here. */
const secretsMax = 20;

/** Those of `--secret`: `-` stands for the lines of standard input. */
export async function readSecrets(values: readonly string[]): Promise<string[]> {
  const read = values.includes('-') ? await readLines(secretsMax + 1) : [];
  const secrets = [...values.filter((value) => value !== '-'), ...read];
  if (secrets.length > secretsMax)
    throw new CommandError(
      'validation_failed',
      `--secret may be given at most ${secretsMax} times`,
    );
  if (!secrets.every(isSecret)) throw new CommandError('validation_failed', `--secret ${format}`);
  return secrets;
}

const format = 'must be whsec_ followed by base64, as it was shown';

function isSecret(text: string): boolean {
  const base64 = /^whsec_([A-Za-z0-9+/]{16,128}={0,2})$/.exec(text)?.[1] ?? '';
  return base64 !== '' && base64.length % 4 === 0;
}

/** The first lines of standard input that are not empty, at most `max`. Does not wait for more, nor for its end. */
export async function readLines(max: number): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of createInterface({ input: process.stdin })) {
    if (line.trim() !== '') lines.push(line.trim());
    if (lines.length === max) break;
  }
  // One that stays open would keep the process alive.
  process.stdin.destroy();
  return lines;
}

export type OwnSecret = {
  secret: string;
  /** Where it comes from, in words. */
  source: string;
  isNew: boolean;
};

/** The secret that signs what this machine sends to itself: `WEBHOOK_SECRET`, or one that is made once and kept. */
export async function ownSecret(): Promise<OwnSecret> {
  const given = process.env['WEBHOOK_SECRET'];
  if (given !== undefined && given !== '') {
    if (!isSecret(given)) throw invalidArguments(`WEBHOOK_SECRET ${format}`);
    return { secret: given, source: 'WEBHOOK_SECRET', isNew: false };
  }
  const file = secretFile();
  const isNew = await makeSecret(file);
  return { secret: await readSecret(file), source: file, isNew };
}

function secretFile(): string {
  const { APPDATA, XDG_CONFIG_HOME } = process.env;
  const windows = process.platform === 'win32' ? APPDATA : undefined;
  const folder = windows || XDG_CONFIG_HOME || join(homedir(), '.config');
  return join(folder, 'orgdir-client', 'webhook-secret');
}

/** Returns whether the file was made. It appears complete, and never replaces one that is there. */
async function makeSecret(file: string): Promise<boolean> {
  const unfinished = `${file}.${process.pid}`;
  try {
    if (await exists(file)) return false;
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    const secret = `whsec_${randomBytes(32).toString('base64')}`;
    await writeFile(unfinished, `${secret}\n`, { mode: 0o600, flag: 'wx' });
    await link(unfinished, file);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Another command has made it in the meantime.
    if (code === 'EEXIST' && (await exists(file))) return false;
    throw cannotStart(
      `the secret cannot be kept in ${file} (${code}); set WEBHOOK_SECRET, or XDG_CONFIG_HOME to a folder that you may write to`,
      { cause: error },
    );
  } finally {
    await rm(unfinished, { force: true }).catch(() => {});
  }
}

async function exists(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false;
      throw error;
    },
  );
}

async function readSecret(file: string): Promise<string> {
  const { mode, text } = await readWithMode(file).catch((error: NodeJS.ErrnoException) => {
    throw cannotStart(
      `the secret in ${file} cannot be read (${error.code}); delete it to get another one, or set WEBHOOK_SECRET`,
      { cause: error },
    );
  });
  if (process.platform !== 'win32' && (mode & 0o077) !== 0)
    throw cannotStart(
      `others can read the secret in ${file}; delete the file to get another one, or run: chmod 600 '${file}'`,
    );
  const secret = text.trim();
  if (isSecret(secret)) return secret;
  throw cannotStart(`${file} contains no secret; delete the file to get another one`);
}

async function readWithMode(file: string): Promise<{ mode: number; text: string }> {
  return { mode: (await stat(file)).mode, text: await readFile(file, 'utf8') };
}
