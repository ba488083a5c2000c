/** Checks every command: help, invalid arguments, JSON output and errors. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Command } from 'commander';
import { createProgram } from '../../src/commands/program.ts';
import { lineBytesMax } from '../../src/directory/import-source.ts';
import { toUrl } from '../support/database.ts';
import { put } from '../support/directory.ts';
import { runHere } from '../support/run-here.ts';
import { runCommand } from '../support/run-command.ts';
import { startTestService, testPublicUrl } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const service = await startTestService();
const folder = await temporaryFolder();
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

const nobody = '0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e7f';
const [missing, csv] = [join(folder, 'missing.ndjson'), join(folder, 'missing.csv')];

/** The exit code, the words, and what standard error says. */
const refused: [code: 1 | 2, words: string[], reason: RegExp][] = [
  [2, ['events', 'list', '--since', 'yesterday'], /--since <time>.* must be a time/],
  [2, ['deliveries', 'list', '--since', 'yesterday'], /must be a time/],
  [2, ['audit', 'list', '--since', '2027-02-30'], /must be a time/],
  [2, ['maintenance', 'on', '--until', 'garbage'], /--until <time>.* must be a time/],
  [2, ['maintenance', 'on', '--message', ''], /must have 1 to .* characters/],
  [2, ['managers', 'add', '--email', 'ada@example.org'], /'--org <slug>' or '--alliance <slug>'/],
  [2, ['apps', 'bind', nobody], /'--org <slug>' or '--alliance <slug>'/],
  [2, ['apps', 'bind', nobody, '--org', 'a', '--alliance', 'b'], /cannot be used with/],
  [2, ['keys', 'list', '--app', 'nonsense'], /must be an id/],
  [2, ['export', 'all'], /^target must be a new folder/],
  [2, ['export', 'all', csv], /must not end in \.csv/],
  [2, ['export', 'blueprints', missing, '--format', 'csv'], /csv cannot hold blueprints/],
  [2, ['import', 'blueprints', csv], /must be NDJSON for blueprints/],
  [1, ['import', 'orgs', missing], /is not a file, or cannot be read/],
  [1, ['export', 'orgs', join(missing, 'orgs')], /cannot be written \(ENOENT\)/],
  [2, ['sync', 'blueprints', 'ftp://example.org/'], /must be a file, or an http or https address/],
  [1, ['sync', 'blueprints', missing], /ENOENT/],
  [2, ['apps', 'create', '--name', ' ', '--owner', 'ada@example.org'], /must have 1 to 100/],
  [2, ['apps', 'create', '--name', 'Herald', '--owner', 'ada'], /must be an email address/],
  [2, ['apps', 'rename', nobody, ''], /must have 1 to 100 characters/],
  [1, ['apps', 'rename', nobody, 'Herald'], /no app with the id/],
  [2, ['apps', 'members', 'add', nobody, '--email', 'ada', '--role', 'owner'], /an email address/],
  [2, ['apps', 'suspend', nobody, '--reason', ' '], /must have 1 to .* on one line/],
  [2, ['keys', 'create', '--platform', '--name', ''], /must have 1 to 100 characters/],
  [2, ['keys', 'rotate', nobody, '--overlap', '-1'], /must be a whole number/],
  [1, ['keys', 'revoke', nobody], /no key with the id/],
  [2, ['accounts', 'link', 'ada'], /must be an email address/],
  [2, ['accounts', 'block', 'a b'], /must be an address or a domain/],
  [1, ['accounts', 'show', 'ada@example.org'], /no account with the id or address/],
  [2, ['managers', 'add', '--org', 'acme', '--email', 'ada'], /must be an email address/],
  [1, ['managers', 'add', '--org', 'none', '--email', 'ada@example.org'], /no organisation none/],
  [2, ['events', 'publish', 'no.such'], /must be one of org\.created/],
  [2, ['events', 'publish', 'org.created'], /^org is required/],
  [2, ['events', 'publish', 'org.created', '--org', 'acme', '--data', '{'], /--data must be JSON/],
  [2, ['events', 'publish', 'application.created', '--org', 'acme', '--data', '{}'], /data\.id/],
  [1, ['events', 'publish', 'org.created', '--org', 'none'], /no organisation none/],
  [2, ['announcements', 'create', '--text', ''], /must have 1 to .* on one line/],
  [2, ['announcements', 'create', '--text', 'a', '--ends', '2020-01-01'], /must be in the future/],
  [
    2,
    ['announcements', 'create', '--text', 'a', '--starts', '2099-02-01', '--ends', '2099-01-01'],
    /^--ends must be after --starts/,
  ],
  [2, ['quotas', 'set', nobody], /must be one or more of --rate/],
  [1, ['quotas', 'show', nobody], /no app with the id/],
  [1, ['restore', missing], /missing.* cannot be read \(ENOENT/],
  [1, ['restore', tmpdir()], /cannot be read \(EISDIR/],
];

test('invalid arguments exit with 2, and what is refused or fails with 1', async () => {
  for (const [code, words, reason] of refused) {
    const ended = await runHere(words, env);
    assert.match(ended.stderr, reason, words.join(' '));
    assert.deepEqual([ended.code, ended.stdout], [code, ''], words.join(' '));
  }
});

test('a list for an unknown app or webhook is an error', async () => {
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
  assert.deepEqual(await codeOf(['events', 'publish', 'org.created']), [2, 'invalid_arguments']);
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

test('the version alone needs no command', async () => {
  for (const option of ['-V', '--version'])
    assert.deepEqual((await createProgram([option])).commands, []);
});
