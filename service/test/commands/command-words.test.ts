/** Checks every command: help, invalid arguments, JSON output and errors. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { Command } from 'commander';
import { createProgram } from '../../src/commands/program.ts';
import { lineBytesMax } from '../../src/directory/import-source.ts';
import { toUrl } from '../support/database.ts';
import { put } from '../support/directory.ts';
import { runHere } from '../support/run-here.ts';
import { runCommand } from '../support/run-command.ts';
import { startTestService, testPublicUrl } from '../support/service.ts';

const service = await startTestService();
const folder = await mkdtemp(join(tmpdir(), 'orgdir-words-'));
after(() => rm(folder, { recursive: true }));
const env = {
  DATABASE_URL: toUrl(service.connection),
  PUBLIC_URL: testPublicUrl,
  DATA_DIR: folder,
};
await writeFile(join(folder, 'orgs.ndjson'), '{"name":"Another"}\n');
await put(service.database, 'orgs', [{ slug: 'acme', name: 'Acme' }]);

const all = await createProgram([]);

/** The words of every command that does something. */
function allCommands(command: Command = all, words: string[] = []): string[][] {
  if (command.commands.length === 0) return [words];
  return command.commands.flatMap((each) => allCommands(each, [...words, each.name()]));
}

/** Returns commander's output for these arguments without running a command. */
async function say(words: string[]): Promise<{ code: number; text: string }> {
  let text = '';
  const write = (more: string) => (text += more);
  const program = await createProgram(words, { writeOut: write, writeErr: write });
  try {
    await program.parseAsync(words, { from: 'user' });
  } catch (error) {
    return { code: (error as { exitCode: number }).exitCode, text };
  }
  throw new Error(`${words.join(' ')} was run`);
}

/** Scripts rely on these: none of them may go. */
const promised =
  'serve, migrate, import, export, apps create, apps list, keys create, keys list, keys revoke, managers add, managers remove, events publish, events list, webhooks list, deliveries list, maintenance on, maintenance off, listen, doctor'.split(
    ', ',
  );

test('every documented command exists', () => {
  const names = new Set(allCommands().map((words) => words.join(' ')));
  assert.deepEqual(
    promised.filter((name) => !names.has(name)),
    [],
  );
});

test('a command alone is what it is among all', async () => {
  const { commands } = all;
  for (const command of commands) {
    const alone = await createProgram([command.name()]);
    assert.ok(alone.commands.length < commands.length, command.name());
    assert.equal(
      alone.commands.find((each) => each.name() === command.name())?.helpInformation(),
      command.helpInformation(),
    );
  }
});

test('the help of every command has a description, an example and the exit codes', async () => {
  for (const words of allCommands()) {
    const { code, text } = await say([...words, '--help']);
    const name = words.join(' ');
    assert.equal(code, 0, name);
    assert.match(text, new RegExp(`^Usage: orgdir ${name}`), name);
    assert.match(text, new RegExp(`Examples?:\\n( {2}.*\\n)* {2}.*orgdir ${name}\\b`), name);
    assert.match(text, /Exit codes: 0 done, 1 refused or failed .*, 2 invalid arguments/, name);
  }
});

test('docs/command-line.md gives the longest line of an import', async () => {
  const page = await readFile(new URL('../../../docs/command-line.md', import.meta.url), 'utf8');
  assert.ok(page.includes(`A line has at most ${lineBytesMax / 1024 ** 2} MiB.`));
});

test('docs/command-line.md names every command', async () => {
  const page = await readFile(new URL('../../../docs/command-line.md', import.meta.url), 'utf8');
  const rows = page.split('\n').filter((line) => line.startsWith('| `'));
  const missing = allCommands().filter(
    ([noun = '', verb = '']) =>
      !rows.some((row) =>
        new RegExp(`\\b${noun}\\b.*\\b${verb}\\b`).test(row.split(' | ')[0] ?? ''),
      ),
  );
  assert.deepEqual(missing, []);
});

test('every option has a description', () => {
  const walk = (command: Command): void => {
    assert.ok(command.description().length > 10, command.name());
    for (const option of command.options) assert.ok(option.description, option.flags);
    for (const argument of command.registeredArguments)
      assert.ok(argument.description, argument.name());
    command.commands.forEach(walk);
  };
  walk(all);
});

test('an unknown option is an invalid argument, for every command', async () => {
  for (const words of allCommands()) {
    const { text } = await say([...words, '--no-such-option']);
    assert.match(
      text,
      /error: (unknown option '--no-such-option'|required option|missing required argument)/,
    );
    assert.match(text, /run with --help for usage/);
  }
  const ended = await runCommand(['events', 'list', '--limit', '0'], env);
  assert.deepEqual([ended.code, ended.stdout], [2, '']);
  assert.match(ended.stderr, /--limit <count>.* must be a whole number from 1 to 1000/s);
});

/** Words after the command's own that let it do its work; commands that are not here get none. */
const args: Record<string, string[]> = {
  import: ['orgs', join(folder, 'orgs.ndjson')],
  export: ['orgs'],
  'apps create': ['--name', 'Herald', '--owner', 'ada@example.org'],
  'keys create': ['--app', service.appId, '--scope', 'read:directory'],
  'managers add': ['--org', 'acme', '--email', 'ada@example.org'],
  'managers remove': ['--org', 'acme', '--email', 'grace@example.org'],
  'events publish': ['org.created', '--org', 'acme'],
};

test('with --json, standard output is JSON, and errors are JSON on standard error', async () => {
  const commands = allCommands().filter(([name]) => name !== 'serve' && name !== 'listen');
  for (const words of commands) await speakJson(words);
});

async function speakJson(words: string[]): Promise<void> {
  const name = words.join(' ');
  const { code, stdout, stderr } = await runHere([...words, ...(args[name] ?? []), '--json'], env);
  for (const line of stdout.split('\n').slice(0, -1))
    assert.doesNotThrow(() => JSON.parse(line), `${name}: ${line}`);
  if (code === 0) assert.notEqual(stdout, '', name);
  if (args[name]) assert.deepEqual([code, stderr], [0, ''], name);
  if (stderr === '') return;
  const { error } = JSON.parse(stderr) as { error: Record<string, unknown> };
  assert.deepEqual(Object.keys(error), ['code', 'message', 'details'], name);
}

test('an invalid time or a missing option is an invalid argument', async () => {
  const app = '0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e7f';
  for (const [words, reason] of [
    [['events', 'list', '--since', 'yesterday'], /--since <time>.* must be a time/],
    [['deliveries', 'list', '--since', 'yesterday'], /must be a time/],
    [['audit', 'list', '--since', '2027-02-30'], /must be a time/],
    [['maintenance', 'on', '--until', 'garbage'], /--until <time>.* must be a time/],
    [['managers', 'add', '--email', 'ada@example.org'], /'--org <slug>' or '--alliance <slug>'/],
    [['apps', 'bind', app], /'--org <slug>' or '--alliance <slug>'/],
    [['apps', 'bind', app, '--org', 'a', '--alliance', 'b'], /cannot be used with/],
    [['keys', 'list', '--app', 'nonsense'], /must be an id/],
  ] as const) {
    const { code, stdout, stderr } = await runHere([...words], env);
    assert.deepEqual([code, stdout], [2, ''], words.join(' '));
    assert.match(stderr, reason);
  }
});

test('a list for an unknown app or webhook is an error', async () => {
  const nobody = '0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e7f';
  for (const [words, reason] of [
    [['keys', 'list', '--app', nobody], `There is no app with the id ${nobody}.`],
    [['deliveries', 'list', '--webhook', nobody], `There is no webhook with the id ${nobody}.`],
  ] as const)
    assert.deepEqual(await runHere([...words], env), {
      code: 1,
      stdout: '',
      stderr: `${reason}\n`,
    });
});

test('a JSON error has a code of the API or of the command line', async () => {
  const codeOf = async (words: string[], more: Record<string, string> = {}) => {
    const { code, stdout, stderr } = await runHere([...words, '--json'], { ...env, ...more });
    assert.equal(stdout, '');
    return [code, (JSON.parse(stderr) as { error: { code: string } }).error.code];
  };
  const process = await runCommand(['keys', 'create', '--json'], env);
  assert.deepEqual([process.code, process.stdout], [2, '']);
  assert.equal(JSON.parse(process.stderr).error.code, 'invalid_arguments');
  const app = '0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e7f';
  assert.deepEqual(await codeOf(['webhooks', 'list', '--app', app]), [1, 'not_found']);
  assert.deepEqual(await codeOf(['events', 'publish', 'org.created']), [1, 'validation_failed']);
  assert.deepEqual(await codeOf(['keys', 'create']), [2, 'invalid_arguments']);
  assert.deepEqual(await codeOf(['keys']), [2, 'invalid_arguments']);
  assert.deepEqual(await codeOf(['events', 'list', '--event', 'no.such']), [
    2,
    'invalid_arguments',
  ]);
  const nowhere = { DATABASE_URL: 'postgres://orgdir:hidden@127.0.0.1:1/orgdir' };
  assert.deepEqual(await codeOf(['apps', 'list'], nowhere), [1, 'cannot_start']);
});

test('a closed pipe ends a command quietly after its work is done', async () => {
  const command = new URL('../../bin/orgdir.js', import.meta.url).pathname;
  const child = spawn(
    process.execPath,
    [
      command,
      'keys',
      'create',
      '--app',
      service.appId,
      '--scope',
      'read:directory',
      '--name',
      'unread',
    ],
    {
      env: { PATH: process.env['PATH'], ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => (stderr += String(chunk)));
  child.stdout.destroy();
  const [code] = (await once(child, 'close')) as [number];
  assert.deepEqual([code, stderr], [0, '']);
  const listed = await runCommand(['keys', 'list', '--app', service.appId, '--json'], env);
  assert.ok(
    (JSON.parse(listed.stdout) as { name: string }[]).some(({ name }) => name === 'unread'),
  );
});
