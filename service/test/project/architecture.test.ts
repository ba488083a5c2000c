import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '../../src');
const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) =>
  file.endsWith('.ts'),
);

type Import = { from: string; to: string };

/** Imports among our own files, types included, as paths below `src`. */
const own: Import[] = [];
const packages: Import[] = [];
for (const from of files) {
  const text = readFileSync(join(root, from), 'utf8');
  for (const [, to] of text.matchAll(/(?:from|import\()\s*'([^']+)'/g) as Iterable<
    [string, string]
  >) {
    if (to.startsWith('.'))
      own.push({ from, to: relative(root, resolve(root, dirname(from), to)) });
    else packages.push({ from, to });
  }
}

/** Each part may import the parts on the lines below it, and itself. Parts on one line do not know each other. */
const levels: string[][] = [
  ['commands'],
  ['start'],
  ['doctor'],
  ['http'],
  ['sync'],
  ['directory', 'webhooks', 'system', 'sign-in'],
  ['access', 'events', 'loop.ts'],
  ['database'],
  ['contract'],
  ['settings', 'runtime', 'errors.ts'],
];

/** The same within `webhooks`. */
const webhookLevels: string[][] = [
  ['management'],
  ['queue'],
  ['replay'],
  ['filters', 'sending', 'notifications'],
  ['history'],
];

const part = (file: string) => file.split('/')[0] as string;
const webhookPart = (file: string) => file.split('/')[1] as string;
const isOfWebhooks = (file: string) => part(file) === 'webhooks';
const levelOf = (lines: string[][], name: string) =>
  lines.findIndex((names) => names.includes(name));

test('every file is in a known folder', () => {
  for (const file of files) {
    assert.notEqual(levelOf(levels, part(file)), -1, `${file} is in no part that is known`);
    if (isOfWebhooks(file))
      assert.notEqual(levelOf(webhookLevels, webhookPart(file)), -1, `${file} is in no folder`);
  }
});

test('imports only go down, and parts of one level do not import each other', () => {
  const wrong = own.filter(({ from, to }) => {
    const within = part(from) === part(to);
    const [fromLevel, toLevel] = [levelOf(levels, part(from)), levelOf(levels, part(to))];
    const bottom = fromLevel === levels.length - 1 && toLevel === levels.length - 1;
    return !within && !bottom && toLevel <= fromLevel;
  });
  assert.deepEqual(wrong, []);
});

test('within webhooks, management uses the queue, and the queue uses the others', () => {
  const wrong = own.filter(
    ({ from, to }) =>
      isOfWebhooks(from) &&
      isOfWebhooks(to) &&
      webhookPart(from) !== webhookPart(to) &&
      levelOf(webhookLevels, webhookPart(to)) <= levelOf(webhookLevels, webhookPart(from)),
  );
  assert.deepEqual(wrong, []);
});

/** The files that may use libraries with outside access. */
const owners: [RegExp, RegExp][] = [
  [/^(fastify|@fastify\/.*)$/, /^http\//],
  [/^pg$/, /^database\//],
  [/^kysely$/, /^(database\/|directory\/list\.ts)/],
  [/^undici$/, /^(webhooks\/sending\/(attempt|guard)|sync\/http-client)\.ts$/],
  [/^croner$/, /^runtime\/cron\.ts$/],
  [/^stream-(json|chain)(\/.*)?$/, /^sync\/read-array\.ts$/],
  [/^(commander|@orgdir\/client(\/.*)?)$/, /^commands\//],
  [/^prom-client$/, /^runtime\/metrics\.ts$/],
  [/^@opentelemetry\//, /^runtime\/otlp-tracing\.ts$/],
  [/^nodemailer$/, /^runtime\/mail\.ts$/],
  [/^better-auth(\/.*)?$/, /^sign-in\/auth\.ts$/],
];

test('libraries with outside access are used in one place', () => {
  for (const [name, owner] of owners) {
    const users = packages.filter(({ to }) => name.test(to));
    assert.ok(users.length > 0, `nobody uses ${name}`);
    assert.deepEqual(
      users.filter(({ from }) => !owner.test(from)),
      [],
    );
  }
});

/** Type imports disappear at run time; all other imports of a file are loaded with it. */
const loadedWith = (file: string) =>
  [
    ...readFileSync(join(root, file), 'utf8').matchAll(
      /^(?:import|export) (?!type\b)[^;]*?from '([^']+)'/gm,
    ),
  ].map(([, to = '']) =>
    to.startsWith('.') ? relative(root, resolve(root, dirname(file), to)) : to,
  );

test('an idle service has not loaded the portal, sign-in, documentation and tracing', () => {
  const loaded = allLoadedWith(['start/main.ts', 'start/create-listeners.ts']);
  assert.ok(loaded.has('http/v1/orgs.ts') || loaded.has('http/v1/directory.ts'));
  assert.ok(loaded.has('sign-in/sign-in.ts') && loaded.has('fastify'));
  const late =
    /^(http\/(portal\/|site\/docs\.ts)|sign-in\/auth\.ts|runtime\/otlp-tracing|better-auth|@fastify\/static|@opentelemetry)/;
  assert.deepEqual(
    [...loaded].filter((each) => late.test(each)),
    [],
  );
});

test('a process of WORKERS has not loaded the HTTP applications', () => {
  const loaded = allLoadedWith(['start/main.ts']);
  assert.ok(loaded.has('webhooks/queue/worker.ts'));
  const http =
    /^(fastify$|@fastify|http\/(app|internal-app|v1|internal|site)\b|sign-in\/sign-in\.ts)/;
  assert.deepEqual(
    [...loaded].filter((each) => http.test(each)),
    [],
  );
});

function allLoadedWith(first: string[]): Set<string> {
  const loaded = new Set(first);
  for (const file of loaded)
    if (file.endsWith('.ts')) for (const to of loadedWith(file)) loaded.add(to);
  return loaded;
}

test('the environment is read in one place', () => {
  const readers = files.filter((file) =>
    /process\.env\b/.test(readFileSync(join(root, file), 'utf8')),
  );
  assert.deepEqual(
    readers.sort(),
    [
      'commands/doctor-command.ts',
      'commands/serve-command.ts',
      'commands/with-database.ts',
      'start/worker-processes.ts',
    ],
    'only to hand it to loadConfig, here or in a worker process',
  );
});

/** Statements whose effect lasts beyond their transaction. */
const sessionState =
  /\b(un)?listen \$\{|pg_(try_)?advisory_(un)?lock|temporary table (?!.* on commit drop)|sql`\s*set (?!local |constraints )|set_config\([^()]*(\([^()]*\)[^()]*)*, false\)|\bwith hold\b|\bdiscard (all|temp)|\bdeallocate\b|\.connection\(\)/;
/** These run on the direct connection only, because a pooler shares connections by transaction. */
const direct = [
  'database/apply-migration.ts',
  'database/embedded.ts',
  'database/load-snapshot.ts',
  'database/migrate.ts',
  'database/session.ts',
  'sync/perform-run.ts',
  'sync/runs.ts',
  'sync/stage-blueprints.ts',
];

test('only the direct connection has state that lasts beyond a transaction', () => {
  assert.deepEqual(
    files.filter((file) => sessionState.test(readFileSync(join(root, file), 'utf8'))).sort(),
    direct,
  );
});
