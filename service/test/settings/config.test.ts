/** Checks each environment variable: valid values, and the error line for invalid ones. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { test } from 'node:test';
import { loadConfig, findMisspelt } from '../../src/settings/config.ts';
import { settings } from '../../src/settings/settings.ts';
import { runCommand } from '../support/command.ts';

const key = Buffer.alloc(32, 1).toString('base64');

const bad: Record<string, string[]> = {
  HOST: ['a host', 'http://127.0.0.1', '-/-'],
  PORT: ['-1', '65536', '3e3', '0x10', 'http', '3000.5', '99999999999'],
  INTERNAL_HOST: ['a host', 'http://127.0.0.1', '-/-'],
  INTERNAL_PORT: ['-1', '65536', '3e3', 'http', '3001.5'],
  INTERNAL_ALLOWED_HOSTS: ['localhost:3001', 'http://localhost', '*', 'a b', '[::1]', 'a..b', '.'],
  PUBLIC_URL: [
    'directory',
    'ftp://a.example',
    'https://u:p@a.example',
    'https://a.example/?x=1',
    'https://a.example/#x',
  ],
  OIDC_ISSUER_URL: ['accounts', 'ftp://a.example', 'https://u:p@a.example'],
  OIDC_NAME: ['a'.repeat(41), 'a\u0007b'],
  REQUIRE_SECOND_FACTOR: ['yes', 'ALL', 'managers,all'],
  GITHUB_CLIENT_ID: ['two words', 'é'],
  SERVICE_NAME: ['two words', 'Ünï', '1st', 'a'.repeat(41), 'X-Y', 'a\r\nb'],
  DATABASE_URL: [
    'mysql://a/b',
    'localhost',
    'postgres://a:99999/b',
    'postgres://a:5432,b:99999/c',
    'postgres://a,b/c?target_session_attrs=standby',
    'postgres:///c?host=a,b',
    'postgres://a/b?sslmode=verify',
    'postgres://a/b?sslmod=require',
  ],
  DATABASE_DIRECT_URL: ['mysql://a/b', 'localhost'],
  DATABASE_READ_URLS: ['mysql://a/b', 'postgres://a/b, replica', 'postgres://a,b/c'],
  SECRET_KEY: [
    'short',
    key.slice(1),
    `${key},`,
    `${key},short`,
    Buffer.alloc(31).toString('base64'),
  ],
  ROLES: ['API', 'api,', 'api;worker', 'scheduler'],
  WORKERS: ['0', '65', '-1', '1.5', 'two', 'AUTO', 'auto,2'],
  WEBHOOK_ALLOWED_NETWORKS: [
    '127.0.0.1',
    '127.0.0.0/33',
    '::1/129',
    'localhost',
    '10.0.0.0/8;::1/128',
  ],
  WEBHOOK_ALLOW_HTTP: ['yes', '1', 'TRUE'],
  WEBHOOK_TIMEOUT_MS: ['99', '30001', '1s'],
  WEBHOOK_RETRY_BASE_MS: ['0', '-5', '3600001'],
  WEBHOOK_RETRY_FACTOR: ['0', '101', '1.5'],
  WEBHOOK_DEACTIVATE_AFTER: ['0', '1000001', 'never'],
  RETENTION_DAYS: ['0', '3651', '30d'],
  RATE_LIMIT_PER_MINUTE: ['-1', 'off', '1000000001'],
  TRUST_PROXY: ['true', '10.0.0.1', '10.0.0.0/8 10.1.0.0/16', '0.0.0.0/0', '10.0.0.0/8,::/0'],
  SMTP_URL: [
    'mail.example.org',
    'https://mail.example.org',
    'smtp://',
    'smtp://user@mail.example.org',
    'smtp://:password@mail.example.org',
    'smtp://%zz:password@mail.example.org',
    'smtp://mail.example.org/?tls.rejectUnauthorized=false',
    'smtp://mail.example.org/path',
    'smtp://mail.example.org:99999',
  ],
  MAIL_FROM: [
    'nobody',
    'a@b.example, c@d.example',
    'A <a@b.example> B',
    'A <a@b.example>\r\nBcc: c@d.example',
    '"A\n" <a@b.example>',
    'Ünï <a@b.example>',
    'a b@c.example',
    'a@b@c.example',
  ],
  SYNC_BLUEPRINTS_URL: [
    'blueprints.ndjson',
    'ftp://a.example/b',
    'https://',
    'https://u:%zz@a.example/b',
    'file://host/b',
    'file:///%zz',
  ],
  SYNC_BLUEPRINTS_CRON: [
    'daily',
    'never',
    '0 4 * *',
    '* * * * * *',
    '60 4 * * *',
    '0 0 30 2 *',
    '@reboot',
    '2027-01-01T00:00:00',
  ],
  CHAT_BASE_URL: ['discord.com', 'https://u:p@a.example', 'https://a.example/?x=1'],
  SYNC_CHAT_CRON: ['never', '0 4 * *', '0 24 * * *'],
  OTEL_EXPORTER_OTLP_ENDPOINT: ['127.0.0.1:4318', 'grpc://a.example', 'https://u:p@a.example'],
  OTEL_TRACES_SAMPLER_ARG: ['-1', '1.1', '1e-3', 'all'],
  LOG_LEVEL: ['INFO', 'verbose', '30'],
};

/** Other variables that must be set for a variable to count. */
const beside: Record<string, Record<string, string>> = {
  DATABASE_DIRECT_URL: { DATABASE_URL: 'postgres://a/b' },
  DATABASE_READ_URLS: { DATABASE_URL: 'postgres://a/b' },
  SMTP_URL: { MAIL_FROM: 'a@b.example' },
  SYNC_BLUEPRINTS_CRON: { SYNC_BLUEPRINTS_URL: 'https://a.example/b' },
  SYNC_CHAT_CRON: { CHAT_TOKEN: 'token' },
  OIDC_ISSUER_URL: { OIDC_CLIENT_ID: 'orgdir', OIDC_CLIENT_SECRET: 'secret' },
  GITHUB_CLIENT_ID: { GITHUB_CLIENT_SECRET: 'secret' },
};

for (const [name, values] of Object.entries(bad)) {
  test(`a bad ${name} is told in one line with its fault and an example`, () => {
    for (const value of values) {
      assert.throws(
        () => loadConfig({ [name]: value }),
        (error: Error) => {
          assert.equal(error.name, 'StartError');
          assert.match(
            error.message,
            new RegExp(
              `^${name} must be? .+, for example \\S.*$|^${name} must hold .+, for example \\S.*$`,
            ),
          );
          assert.ok(!error.message.includes('\n'));
          return true;
        },
        `${name}=${value}`,
      );
    }
  });

  test(`an example that the line about ${name} gives is right`, () => {
    const line = messageOf({ [name]: values[0] ?? '' });
    const example = line.split(', for example ').at(-1) ?? '';
    if (name === 'SECRET_KEY')
      return assert.match(example, /^the output of: openssl rand -base64 32$/);
    assert.doesNotThrow(() => loadConfig({ ...beside[name], [name]: example }));
  });
}

function messageOf(env: Record<string, string>): string {
  try {
    loadConfig(env);
  } catch (error) {
    return (error as Error).message;
  }
  return assert.fail('it was taken');
}

test('an address of a database sets nothing that the service sets for its connections', () => {
  for (const [given, used] of [
    ['postgres://u:a%3Fb@a/b?application_name=x', 'postgres://u:a%3Fb@a/b'],
    [
      'postgres://a,b/c?options=-c%20geqo%3Doff&sslmode=disable',
      'postgres://a,b/c?sslmode=disable',
    ],
    ['postgres://a/b?sslmode=require&host=/run', 'postgres://a/b?sslmode=verify-full&host=/run'],
    [
      'postgres://a/b?uselibpqcompat=true&sslmode=require',
      'postgres://a/b?uselibpqcompat=true&sslmode=require',
    ],
  ] as const) {
    const read = given.includes(',') ? 'postgres://a/b' : given;
    const env = { DATABASE_URL: given, DATABASE_DIRECT_URL: given, DATABASE_READ_URLS: read };
    const config = loadConfig(env);
    assert.equal(config.databaseUrl, used);
    assert.equal(config.databaseDirectUrl, used);
    if (read === given) assert.deepEqual(config.databaseReadUrls, [used]);
  }
});

test('an invalid value that may contain a secret is not repeated', () => {
  const secret = 'hunter2hunter2';
  for (const name of ['DATABASE_URL', 'SECRET_KEY', 'PUBLIC_URL', 'SMTP_URL', 'CHAT_BASE_URL'])
    assert.doesNotMatch(messageOf({ [name]: `https://user:${secret}@db.example/x` }), /hunter2/);
  assert.doesNotMatch(messageOf({ SYNC_BLUEPRINTS_URL: `ftp://u:${secret}@a.example` }), /hunter2/);
  assert.doesNotMatch(messageOf({ CHAT_TOKEN: `Bot ${secret}` }), /hunter2/);
});

test('the defaults match .env.example, and an empty variable counts as unset', () => {
  const config = loadConfig({});
  assert.equal(config.publicUrl, 'http://127.0.0.1:3000');
  assert.equal(config.databaseUrl, null);
  assert.equal(config.secretKeys, null);
  assert.deepEqual([...config.roles], ['api', 'worker']);
  assert.deepEqual(config.webhooks, {
    allowedNetworks: [],
    allowHttp: false,
    timeoutMs: 10_000,
    leaseMarginMs: 20_000,
    retryBaseMs: 10_000,
    retryFactor: 6,
    deactivateAfter: 5,
  });
  assert.deepEqual(config.internal, {
    host: '127.0.0.1',
    port: 3001,
    allowedHosts: new Set(['localhost', '127.0.0.1']),
  });
  assert.equal(config.mail, null);
  assert.equal(config.retentionDays, 30);
  assert.equal(config.rateLimitPerMinute, 600);
  const empty = Object.fromEntries(Object.keys(bad).map((name) => [name, ' ']));
  assert.deepEqual(loadConfig(empty), config);
});

test('the internal port must differ from the public one if both listen', () => {
  const line = messageOf({ PORT: '3001' });
  assert.equal(line, 'INTERNAL_PORT must differ from PORT, which is also 3001, for example 3002');
  messageOf({ PORT: '65535', INTERNAL_PORT: '65535' });
  messageOf({ HOST: '0.0.0.0', PORT: '3001' });
  messageOf({ HOST: '::', PORT: '3001' });
  messageOf({ INTERNAL_HOST: '0.0.0.0', INTERNAL_PORT: '3000' });
  for (const env of [
    { PORT: '0', INTERNAL_PORT: '0' },
    { PORT: '3001', INTERNAL_HOST: '127.0.0.2' },
    { PORT: '3001', ROLES: 'worker' },
  ])
    assert.doesNotThrow(() => loadConfig(env));
});

test('WORKERS applies to the role worker, and is limited on the embedded database', () => {
  const server = { DATABASE_URL: 'postgres://a/b' };
  const workersOf = (env: Record<string, string>) => loadConfig(env).workers;
  assert.equal(workersOf({}), 1);
  assert.equal(workersOf({ WORKERS: '8' }), 8);
  assert.equal(workersOf({ WORKERS: '64', ...server }), 64);
  assert.equal(workersOf({ WORKERS: '4', ROLES: 'worker' }), 4);
  assert.equal(workersOf({ WORKERS: '4', ROLES: 'api' }), 1);
  const cores = availableParallelism();
  assert.equal(workersOf({ WORKERS: 'auto', ...server }), Math.min(cores, 64));
  assert.equal(workersOf({ WORKERS: 'auto' }), Math.min(cores, 8));
  assert.equal(
    messageOf({ WORKERS: '9' }),
    'WORKERS must be at most 8 with the embedded database, which accepts 125 connections; for more, set DATABASE_URL',
  );
});

test('mail needs a server and a sender, or is off', () => {
  assert.equal(
    messageOf({ SMTP_URL: 'smtp://127.0.0.1' }),
    'MAIL_FROM must be set if SMTP_URL is set: one address in plain letters, with or without a name, for example Directory <no-reply@example.org>',
  );
  assert.equal(loadConfig({ MAIL_FROM: 'a@b.example' }).mail, null);
  assert.deepEqual(
    loadConfig({ SMTP_URL: 'smtp://ada:p%40ss@mail.example', MAIL_FROM: "The Ada's <a@b.example>" })
      .mail,
    {
      host: 'mail.example',
      port: 587,
      secure: false,
      requireTls: true,
      verifyCertificate: true,
      credentials: { user: 'ada', password: 'p@ss' },
      from: { name: "The Ada's", address: 'a@b.example' },
    },
  );
});

test('mail to another machine requires TLS with a valid certificate', () => {
  const mail = (url: string) => loadConfig({ SMTP_URL: url, MAIL_FROM: 'a@b.example' }).mail;
  const pick = (url: string) => {
    const { port, secure, requireTls, verifyCertificate } = mail(url) ?? assert.fail();
    return [port, secure, requireTls, verifyCertificate];
  };
  assert.deepEqual(pick('smtps://u:p@mail.example'), [465, true, false, true]);
  assert.deepEqual(pick('smtp://u:p@mail.example:2525'), [2525, false, true, true]);
  assert.deepEqual(pick('smtp://mail.example'), [25, false, true, true]);
  assert.deepEqual(pick('smtp://u:p@localhost'), [587, false, false, false]);
  assert.deepEqual(pick('smtp://u:p@localhost.example'), [587, false, true, true]);
  assert.deepEqual(pick('smtp://[::1]'), [25, false, false, false]);
  assert.deepEqual(pick('smtp://10.0.0.1'), [25, false, true, true]);
  assert.equal(mail('smtp://[::1]')?.host, '::1');
});

test('a sign-in provider needs all its settings, or is off', () => {
  assert.deepEqual(loadConfig({}).signIn, {
    github: null,
    discord: null,
    oidc: null,
    requireSecondFactor: 'none',
    printLinks: true,
  });
  for (const [env, line] of [
    [
      { GITHUB_CLIENT_ID: 'x' },
      'GITHUB_CLIENT_SECRET must be set if GITHUB_CLIENT_ID is set: the secret that the provider gave you for this service (printable ASCII without spaces), for example the one that its settings show',
    ],
    [
      { DISCORD_CLIENT_SECRET: 'x' },
      'DISCORD_CLIENT_ID must be set if DISCORD_CLIENT_SECRET is set: the id that the provider gave you for this service (printable ASCII without spaces), for example Iv1.0123456789abcdef',
    ],
    [
      { OIDC_CLIENT_ID: 'x', OIDC_CLIENT_SECRET: 'y' },
      'OIDC_ISSUER_URL must be set if OIDC_CLIENT_SECRET is set: an http or https address without query or credentials, for example https://directory.example.org',
    ],
    [
      { OIDC_ISSUER_URL: 'https://a.example/' },
      'OIDC_CLIENT_ID must be set if OIDC_ISSUER_URL is set: the id that the provider gave you for this service (printable ASCII without spaces), for example Iv1.0123456789abcdef',
    ],
  ] as const)
    assert.equal(messageOf(env), line);
  assert.doesNotMatch(messageOf({ GITHUB_CLIENT_SECRET: 'hunter2 hunter2' }), /hunter2/);
  const client = { clientId: 'x', clientSecret: 'y' };
  const { signIn } = loadConfig({
    DISCORD_CLIENT_ID: 'x',
    DISCORD_CLIENT_SECRET: 'y',
    OIDC_ISSUER_URL: 'https://a.example/',
    OIDC_CLIENT_ID: 'x',
    OIDC_CLIENT_SECRET: 'y',
    OIDC_NAME: 'Example Login',
  });
  assert.deepEqual(signIn.discord, client);
  assert.deepEqual(signIn.oidc, { ...client, issuer: 'https://a.example', name: 'Example Login' });
});

test('links are printed only if mail is off and nobody else can reach the service', () => {
  const printLinks = (env: Record<string, string>) => loadConfig(env).signIn.printLinks;
  for (const HOST of ['127.0.0.1', '127.1.2.3', 'localhost', '::1'])
    assert.equal(printLinks({ HOST }), true, HOST);
  for (const HOST of ['0.0.0.0', '::', '10.0.0.1', 'localhost.example'])
    assert.equal(printLinks({ HOST }), false, HOST);
  assert.equal(printLinks({ SMTP_URL: 'smtp://127.0.0.1', MAIL_FROM: 'a@b.example' }), false);
});

test('a sync needs its source, and without a schedule it runs on request', () => {
  const { syncs } = loadConfig({ CHAT_BASE_URL: 'http://127.0.0.1:8080/api/' });
  assert.deepEqual(syncs, { blueprints: null, chat: null });
  const source = 'https://u:p@a.example/blueprints.ndjson?token=x';
  for (const [env, line] of [
    [
      { SYNC_BLUEPRINTS_CRON: '0 4 * * *' },
      'SYNC_BLUEPRINTS_URL must be set if SYNC_BLUEPRINTS_CRON is set: an http, https or file address, for example https://example.org/blueprints.ndjson',
    ],
    [
      { SYNC_CHAT_CRON: '@hourly' },
      'CHAT_TOKEN must be set if SYNC_CHAT_CRON is set: the token of your bot, without Bot before it (printable ASCII without spaces), for example the one that the Discord Developer Portal shows',
    ],
  ] as const)
    assert.equal(messageOf(env), line);
  const config = loadConfig({
    SYNC_BLUEPRINTS_URL: source,
    SYNC_BLUEPRINTS_CRON: '0 4 * * *',
    CHAT_TOKEN: 'x.y-z',
  });
  assert.equal(config.syncs.blueprints?.source, source);
  const { schedule } = config.syncs.blueprints ?? assert.fail();
  // In UTC, whatever the machine's time zone.
  assert.equal(
    schedule?.next(new Date('2026-03-29T04:00:00.000Z')).toISOString(),
    '2026-03-30T04:00:00.000Z',
  );
  assert.deepEqual(config.syncs.chat, {
    token: 'x.y-z',
    baseUrl: 'https://discord.com/api/v10',
    schedule: null,
  });
  assert.deepEqual(loadConfig({ SYNC_BLUEPRINTS_URL: source }).syncs.blueprints, {
    source,
    schedule: null,
  });
});

test('the example for a collector is the address of one', () => {
  assert.match(
    messageOf({ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector' }),
    /, for example http:\/\/127\.0\.0\.1:4318$/,
  );
});

test('the limits of each range are valid', () => {
  const least = loadConfig({ PORT: '0', WEBHOOK_TIMEOUT_MS: '100', RATE_LIMIT_PER_MINUTE: '0' });
  assert.deepEqual([least.port, least.webhooks.timeoutMs, least.rateLimitPerMinute], [0, 100, 0]);
  const most = loadConfig({ PORT: '65535', WEBHOOK_TIMEOUT_MS: '30000', RETENTION_DAYS: '3650' });
  assert.deepEqual(
    [most.port, most.webhooks.timeoutMs, most.retentionDays],
    [65_535, 30_000, 3650],
  );
  assert.equal(loadConfig({ SECRET_KEY: `${key}, ${key}` }).secretKeys?.length, 2);
  assert.equal(loadConfig({ HOST: '::1' }).publicUrl, 'http://[::1]:3000');
  assert.equal(
    loadConfig({ PUBLIC_URL: 'https://a.example/base/' }).publicUrl,
    'https://a.example/base',
  );
});

test('an invalid variable ends the process with that line only', { timeout: 300_000 }, async () => {
  const { code, stdout, stderr } = await runCommand(['serve'], { env: { PORT: 'http' } });
  assert.equal(code, 1);
  assert.equal(stdout, '');
  assert.equal(
    stderr,
    'PORT must be a whole number from 0 to 65535, not "http", for example 3000\n',
  );
});

test('.env.example has every setting once, in the order of the table, with its default', () => {
  const text = readFileSync(new URL('../../../.env.example', import.meta.url), 'utf8');
  const shown = [...text.matchAll(/^# ([A-Z_]+)=(.*)$/gm)].map(([, name = '', value = '']) => ({
    name,
    value: value.replace(/^'(.*)'$/, '$1'),
  }));
  assert.deepEqual(
    shown.map(({ name }) => name),
    Object.keys(settings),
  );
  for (const { name, value } of shown) {
    const standard = settings[name]?.default;
    if (standard && name !== 'DATA_DIR') assert.equal(value, standard, name);
    else if (value !== '')
      assert.doesNotThrow(() => loadConfig({ ...beside[name], [name]: value }));
  }
});

test('all bad values are reported at once', () => {
  const lines = messageOf({ PORT: 'http', LOG_LEVEL: 'loud', DATABASE_UR: 'postgres://a/b' });
  assert.deepEqual(
    lines.split('\n').map((line) => line.split(' ')[0]),
    ['PORT', 'LOG_LEVEL', 'DATABASE_UR'],
  );
});

test('a variable that is nearly a setting that is not set stops the start, with a suggestion', () => {
  for (const [variable, setting] of [
    ['DATABASE_UR', 'DATABASE_URL'],
    ['DATABASE_URLS', 'DATABASE_URL'],
    ['DATABASE_ULR', 'DATABASE_URL'],
    ['DATABASE-URL', 'DATABASE_URL'],
    ['SECRETKEY', 'SECRET_KEY'],
    ['DATA_DIRS', 'DATA_DIR'],
  ] as const)
    assert.equal(
      messageOf({ [variable]: 'anything' }),
      `${variable} is not a setting; rename it to ${setting}, or remove it if it is not meant for this service`,
    );
});

test('other look-alikes only warn, and names of other programs do nothing', async () => {
  const suspects = {
    // At distance 2.
    DATABSE_UR: 'DATABASE_URL',
    // Next to the setting itself.
    SECRET_KEYS: 'SECRET_KEY',
    database_url: 'DATABASE_URL',
    ORGDIR_PUBLIC_URL: 'PUBLIC_URL',
    WORKER: 'WORKERS',
  };
  const env = {
    ...suspects,
    SECRET_KEY: key,
    PATH: '/bin',
    HOME: '/',
    HOSTNAME: 'a',
    EMPTY_PORT: '',
  };
  const ofKubernetes = {
    DATABASE_UR_SERVICE_HOST: '10.0.0.1',
    INTERNAL_HOS_PORT: 'tcp://10.0.0.1:80',
    INTERNL_PORT: 'tcp://10.0.0.1:80',
    ROLE_PORT_80_TCP: 'tcp://10.0.0.1:80',
  };
  assert.deepEqual(
    findMisspelt({ ...env, ...ofKubernetes, DATABASE_ULR: '', OTEL_SERVICE_NAME: 'a' }),
    {
      faults: [],
      suspects: Object.entries(suspects).map(([variable, setting]) => ({ variable, setting })),
    },
  );
  const { stdout } = await runCommand(['doctor', '--json'], {
    env: { ...env, DATA_DIR: '/nowhere/data' },
  });
  for (const variable of Object.keys(suspects))
    assert.ok(stdout.includes(`${variable} is not a setting, but looks like`), variable);
});
