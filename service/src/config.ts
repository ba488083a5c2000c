/**
 * Reads the environment; no other file does. Each variable is checked when the process starts, and an invalid one stops
 * it with one line that names the variable, the error and an example.
 */
import { resolve } from 'node:path';
import ipaddr from 'ipaddr.js';
import { parseSchedule, type Schedule } from './cron.ts';
import { StartError } from './errors.ts';

export type Network = [ipaddr.IPv4 | ipaddr.IPv6, number];
type Role = 'api' | 'worker';
/** The mail server and the sender address for mail to owners. */
export type MailSettings = {
  host: string;
  port: number;
  /** TLS from the first byte (smtps:). */
  secure: boolean;
  /**
   * For a server on another machine, mail requires STARTTLS: a sign-in link in clear text is worth as much as a
   * password.
   */
  requireTls: boolean;
  /**
   * False for a server on this machine: nobody can intercept the connection, and its certificate is often self-signed.
   */
  verifyCertificate: boolean;
  credentials: { user: string; password: string } | null;
  from: MailAddress;
};
type MailAddress = { name: string; address: string };
/** The schedule is null if runs start only on request. */
type BlueprintSyncSettings = { source: string; schedule: Schedule | null };
/** This service's registration with a sign-in provider. */
type ProviderClient = { clientId: string; clientSecret: string };
type OidcClient = ProviderClient & { issuer: string; name: string };
type ChatSyncSettings = {
  provider: 'discord';
  token: string;
  baseUrl: string;
  schedule: Schedule | null;
};
export type Config = ReturnType<typeof loadConfig>;

type Environment = Readonly<Record<string, string | undefined>>;

/** Reads the configuration. Throws a `StartError` for the first invalid variable. */
export function loadConfig(env: Environment) {
  const host = read(env, 'HOST', '127.0.0.1', hostName);
  const port = read(env, 'PORT', '3000', wholeNumber(0, 65_535, '3000'));
  const roleNames = read(env, 'ROLES', 'api,worker', roles);
  const internalHost = read(env, 'INTERNAL_HOST', '127.0.0.1', hostName);
  const internal = {
    host: internalHost,
    port: read(env, 'INTERNAL_PORT', '3001', wholeNumber(0, 65_535, '3001')),
    /** The lower-cased names that a Host header may have there; IP addresses always pass. */
    allowedHosts: new Set([
      ...read(env, 'INTERNAL_ALLOWED_HOSTS', 'localhost', hostNames),
      internalHost.toLowerCase(),
    ]) as ReadonlySet<string>,
  };
  if (roleNames.has('api')) requireTwoPorts({ host, port }, internal);
  const mail = mailSettings(
    optional(env, 'SMTP_URL', smtpServer),
    optional(env, 'MAIL_FROM', mailAddress),
  );
  const publicUrl = read(env, 'PUBLIC_URL', httpAddress(host, port), baseUrl);
  const trustProxy = read(env, 'TRUST_PROXY', '', networkNames);
  return {
    host,
    port,
    publicUrl,
    serviceName: read(env, 'SERVICE_NAME', 'Service', headerWord),
    databaseUrl: optional(env, 'DATABASE_URL', postgresUrl),
    dataDir: resolve(
      read(env, 'DATA_DIR', process.getuid?.() === 0 ? '/var/lib/orgdir' : './data', folder),
    ),
    /** Newest first: the first encrypts, all decrypt. Null: generated into `dataDir`. */
    secretKeys: optional(env, 'SECRET_KEY', secretKeys),
    roles: roleNames,
    /** The listener for metrics, health and the internal API, in every process; never on the public port. */
    internal,
    webhooks: {
      allowedNetworks: read(env, 'WEBHOOK_ALLOWED_NETWORKS', '', networks),
      allowHttp: read(env, 'WEBHOOK_ALLOW_HTTP', 'false', trueOrFalse),
      timeoutMs: read(env, 'WEBHOOK_TIMEOUT_MS', '10000', wholeNumber(100, 30_000, '10000')),
      /** Added to the deadline to leave time to record the attempt; both together are the lease. */
      leaseMarginMs: read(
        env,
        'WEBHOOK_LEASE_MARGIN_MS',
        '20000',
        wholeNumber(100, 600_000, '20000'),
      ),
      retryBaseMs: read(env, 'WEBHOOK_RETRY_BASE_MS', '10000', wholeNumber(1, 3_600_000, '10000')),
      retryFactor: read(env, 'WEBHOOK_RETRY_FACTOR', '6', wholeNumber(1, 100, '6')),
      deactivateAfter: read(env, 'WEBHOOK_DEACTIVATE_AFTER', '5', wholeNumber(1, 1_000_000, '5')),
    },
    retentionDays: read(env, 'RETENTION_DAYS', '30', wholeNumber(1, 3650, '30')),
    /** Requests per minute for each key, or for each address without a valid key. 0: no limit. */
    rateLimitPerMinute: read(
      env,
      'RATE_LIMIT_PER_MINUTE',
      '600',
      wholeNumber(0, 1_000_000_000, '600'),
    ),
    trustProxy,
    /** Null: owners get no mail. */
    mail,
    /** Sign-in providers for the portal in addition to email and password. Null: not offered. */
    signIn: {
      github: providerClient(
        'GITHUB',
        optional(env, 'GITHUB_CLIENT_ID', clientId),
        optional(env, 'GITHUB_CLIENT_SECRET', clientSecret),
      ),
      discord: providerClient(
        'DISCORD',
        optional(env, 'DISCORD_CLIENT_ID', clientId),
        optional(env, 'DISCORD_CLIENT_SECRET', clientSecret),
      ),
      oidc: oidcClient(
        optional(env, 'OIDC_ISSUER_URL', baseUrl),
        providerClient(
          'OIDC',
          optional(env, 'OIDC_CLIENT_ID', clientId),
          optional(env, 'OIDC_CLIENT_SECRET', clientSecret),
        ),
        read(env, 'OIDC_NAME', 'OpenID Connect', providerName),
      ),
      /** Without mail, links are printed on the terminal, but only if no proxy could expose the service to others. */
      printLinks:
        mail === null &&
        trustProxy.length === 0 &&
        isLoopback(host.includes(':') ? `[${host}]` : host) &&
        isLoopback(new URL(publicUrl).hostname),
    },
    syncs: {
      /** Null: no source is configured. */
      blueprints: blueprintSyncSettings(
        optional(env, 'SYNC_BLUEPRINTS_URL', sourceAddress),
        optional(env, 'SYNC_BLUEPRINTS_CRON', scheduleOrNever),
      ),
      /** Null: no provider is configured. */
      chat: chatSyncSettings(
        optional(env, 'CHAT_PROVIDER', chatProvider),
        optional(env, 'CHAT_TOKEN', token),
        read(env, 'CHAT_BASE_URL', discordUrl, baseUrl),
        optional(env, 'SYNC_CHAT_CRON', schedule),
      ),
    },
    logLevel: read(env, 'LOG_LEVEL', 'info', logLevel),
  };
}

/** `http://HOST:PORT`, with brackets around an IPv6 address. */
export function httpAddress(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

type Listening = { host: string; port: number };
const everywhere = new Set(['0.0.0.0', '::']);

/** The internal port must never be public. With 0 the system chooses two different ports. */
function requireTwoPorts(open: Listening, internal: Listening): void {
  const meet =
    open.host === internal.host || everywhere.has(open.host) || everywhere.has(internal.host);
  if (internal.port === 0 || internal.port !== open.port || !meet) return;
  throw new StartError(
    `INTERNAL_PORT must differ from PORT, which is also ${open.port}, for example ${open.port < 65_535 ? open.port + 1 : 3001}`,
  );
}

class Fault extends Error {
  constructor(what: string, example: string) {
    super(`${what}, for example ${example}`);
  }
}

function read<T>(env: Environment, name: string, fallback: string, parse: (text: string) => T): T {
  const text = env[name]?.trim();
  try {
    return parse(text === undefined || text === '' ? fallback : text);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    throw new StartError(`${name} ${error.message}`);
  }
}

function optional<T>(env: Environment, name: string, parse: (text: string) => T): T | null {
  return env[name]?.trim() ? read(env, name, '', parse) : null;
}

function wholeNumber(least: number, most: number, example: string) {
  return (text: string): number => {
    const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    throw new Fault(`must be a whole number from ${least} to ${most}, not ${quote(text)}`, example);
  };
}

function hostName(text: string): string {
  if (/^[A-Za-z0-9.:_-]{1,255}$/.test(text)) return text;
  throw new Fault(`must be a host name or an IP address, not ${quote(text)}`, '127.0.0.1');
}

/** Returns names in lower case, without the trailing dot of a fully qualified name. */
function hostNames(text: string): string[] {
  const names = text.split(',').map((part) => part.trim());
  for (const name of names) {
    if (!/^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?$/.test(name))
      throw new Fault(
        `must be host names without ports, separated by commas, not ${quote(name)}`,
        'localhost,orgdir-worker',
      );
  }
  return names.map((name) => name.toLowerCase().replace(/\.$/, ''));
}

function baseUrl(text: string): string {
  const url = URL.parse(text);
  const isPlain = url && !url.search && !url.hash && !url.username && !url.password;
  if (isPlain && /^https?:$/.test(url.protocol)) return url.href.replace(/\/+$/, '');
  // The message does not repeat the value, which may hold credentials.
  throw new Fault(
    'must be an http or https address without query or credentials',
    'https://directory.example.org',
  );
}

function headerWord(text: string): string {
  if (/^[A-Za-z][A-Za-z0-9]{0,39}$/.test(text)) return text;
  throw new Fault(
    `must be one word of at most 40 ASCII letters and digits, because it begins header names, not ${quote(text)}`,
    'Service',
  );
}

function postgresUrl(text: string): string {
  if (/^postgres(ql)?:$/.test(URL.parse(text)?.protocol ?? '')) return text;
  // The message does not repeat the value, which may hold a password.
  throw new Fault(
    'must be a PostgreSQL address',
    'postgres://orgdir:password@127.0.0.1:5432/orgdir',
  );
}

function folder(text: string): string {
  if (!text.includes('\0')) return text;
  throw new Fault('must be a folder', './data');
}

function secretKeys(text: string): Buffer[] {
  return text.split(',').map((part) => {
    const key = Buffer.from(part.trim(), 'base64');
    if (key.length === 32 && /^[A-Za-z0-9+/]{43}=$/.test(part.trim())) return key;
    throw new Fault(
      'must be 32 bytes in base64 (several separated by commas)',
      'the output of: openssl rand -base64 32',
    );
  });
}

function roles(text: string): ReadonlySet<Role> {
  const names = text.split(',').map((part) => part.trim());
  if (names.every((name): name is Role => name === 'api' || name === 'worker'))
    return new Set(names);
  throw new Fault(`must be api, worker or both, not ${quote(text)}`, 'api,worker');
}

function trueOrFalse(text: string): boolean {
  if (text === 'true' || text === 'false') return text === 'true';
  throw new Fault(`must be true or false, not ${quote(text)}`, 'false');
}

function networks(text: string): Network[] {
  return networkNames(text).map((name) => ipaddr.parseCIDR(name));
}

function networkNames(text: string): string[] {
  const names = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  for (const name of names) {
    if (!ipaddr.isValidCIDR(name))
      throw new Fault(
        `must be networks in CIDR notation, not ${quote(name)}`,
        '127.0.0.0/8,::1/128',
      );
  }
  return names;
}

type SmtpServer = Omit<MailSettings, 'from'>;

function mailSettings(server: SmtpServer | null, from: MailAddress | null): MailSettings | null {
  if (!server) return null;
  if (from) return { ...server, from };
  throw new StartError(
    `MAIL_FROM must be set if SMTP_URL is set, for example ${mailAddressExample}`,
  );
}

function smtpServer(text: string): SmtpServer {
  const url = URL.parse(text);
  const isPlain = url && url.hostname !== '' && /^\/?$/.test(url.pathname + url.search + url.hash);
  const credentials = url && smtpCredentials(url);
  if (!isPlain || !/^smtps?:$/.test(url.protocol) || credentials === undefined)
    // The message does not repeat the value, which may hold a password.
    throw new Fault(
      'must be an smtp or smtps address, with a user and a password or neither, and nothing after the port',
      'smtp://user:password@mail.example.org:587',
    );
  const secure = url.protocol === 'smtps:';
  const isLocal = isLoopback(url.hostname);
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (secure ? 465 : credentials ? 587 : 25) : Number(url.port),
    secure,
    requireTls: !secure && !isLocal,
    verifyCertificate: !isLocal,
    credentials,
  };
}

/** Null: no credentials. Undefined: only one of them, or invalid percent-encoding. */
function smtpCredentials({ username, password }: URL): MailSettings['credentials'] | undefined {
  if (username === '' && password === '') return null;
  if (username === '' || password === '') return undefined;
  try {
    return { user: decodeURIComponent(username), password: decodeURIComponent(password) };
  } catch {
    return undefined;
  }
}

function isLoopback(hostname: string): boolean {
  return /^((.+\.)?localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
}

const mailAddressExample = 'Directory <no-reply@example.org>';

/**
 * An address alone or with a name before it. Only ASCII, so that every server accepts it and no header can be injected.
 */
function mailAddress(text: string): MailAddress {
  const [, name = '', address = ''] = /^(?:([A-Za-z0-9 ._'-]{1,80}) <([^<>]+)>)$/.exec(text) ?? [
    '',
    '',
    text,
  ];
  if (/^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9.-]{1,253}$/.test(address))
    return { name: name.trim(), address };
  throw new Fault(
    `must be one address in plain letters, with or without a name, not ${quote(text)}`,
    mailAddressExample,
  );
}

const sourceExample = 'https://example.org/blueprints.ndjson';
/** Daily at 04:00. */
const cronExample = '0 4 * * *';

function blueprintSyncSettings(
  source: string | null,
  due: Schedule | 'never' | null,
): BlueprintSyncSettings | null {
  if (source === null) {
    if (due === null) return null;
    throw new StartError(
      `SYNC_BLUEPRINTS_URL must be set if SYNC_BLUEPRINTS_CRON is set, for example ${sourceExample}`,
    );
  }
  if (due === null)
    throw new StartError(
      `SYNC_BLUEPRINTS_CRON must be set if SYNC_BLUEPRINTS_URL is set (never: only on request), for example ${cronExample}`,
    );
  return { source, schedule: due === 'never' ? null : due };
}

function chatSyncSettings(
  provider: 'discord' | null,
  botToken: string | null,
  address: string,
  due: Schedule | null,
): ChatSyncSettings | null {
  if (provider === null) {
    const other = botToken === null ? due && 'SYNC_CHAT_CRON' : 'CHAT_TOKEN';
    if (other === null) return null;
    throw new StartError(`CHAT_PROVIDER must be set if ${other} is set, for example discord`);
  }
  if (botToken === null)
    throw new StartError('CHAT_TOKEN must be set if CHAT_PROVIDER is set: the token of your bot');
  return { provider, token: botToken, baseUrl: address, schedule: due };
}

/** User and password are sent decoded, so the percent-encoding must be valid. */
function sourceAddress(text: string): string {
  const url = URL.parse(text);
  const isAddress = url !== null && /^(https?|file):$/.test(url.protocol);
  if (isAddress && (url.protocol === 'file:' ? url.hostname === '' : url.hostname !== '')) {
    try {
      decodeURIComponent(url.username + url.password + url.pathname);
      return text;
    } catch {
      // Reported below.
    }
  }
  // The message does not repeat the value, which may hold a password or a token.
  throw new Fault('must be an http, https or file address', sourceExample);
}

function scheduleOrNever(text: string): Schedule | 'never' {
  return text === 'never' ? text : schedule(text);
}

function schedule(text: string): Schedule {
  const parsed = parseSchedule(text);
  if (parsed) return parsed;
  throw new Fault(
    `must be a cron schedule of five fields, in UTC, that comes due, not ${quote(text)}`,
    cronExample,
  );
}

const discordUrl = 'https://discord.com/api/v10';

function chatProvider(text: string): 'discord' {
  if (text === 'discord') return text;
  throw new Fault(`must be discord, the only provider, not ${quote(text)}`, 'discord');
}

function token(text: string): string {
  // The message does not repeat the value, which is a secret.
  if (/^[\x21-\x7e]{1,500}$/.test(text)) return text;
  throw new Fault(
    'must be the token of your bot: printable ASCII without spaces, and without Bot before it',
    'the one that the Discord Developer Portal shows',
  );
}

type ProviderPrefix = 'GITHUB' | 'DISCORD' | 'OIDC';

function providerClient(
  prefix: ProviderPrefix,
  id: string | null,
  secret: string | null,
): ProviderClient | null {
  if (id !== null && secret !== null) return { clientId: id, clientSecret: secret };
  if (id === null && secret === null) return null;
  const [missing, given] = id === null ? ['ID', 'SECRET'] : ['SECRET', 'ID'];
  throw new StartError(
    `${prefix}_CLIENT_${missing} must be set if ${prefix}_CLIENT_${given} is set: the provider shows both for this service`,
  );
}

function oidcClient(
  issuer: string | null,
  client: ProviderClient | null,
  name: string,
): OidcClient | null {
  if (issuer !== null && client !== null) return { ...client, issuer, name };
  if (issuer === null && client === null) return null;
  const [missing, given, example] =
    issuer === null
      ? ['OIDC_ISSUER_URL', 'OIDC_CLIENT_ID', ', for example https://accounts.example.org']
      : [
          'OIDC_CLIENT_ID',
          'OIDC_ISSUER_URL',
          ': the client id that the provider shows for this service',
        ];
  throw new StartError(`${missing} must be set if ${given} is set${example}`);
}

function clientId(text: string): string {
  if (/^[\x21-\x7e]{1,500}$/.test(text)) return text;
  throw new Fault(
    'must be the id that the provider gave you for this service: printable ASCII without spaces',
    'Iv1.0123456789abcdef',
  );
}

function clientSecret(text: string): string {
  // The message does not repeat the value, which is a secret.
  if (/^[\x21-\x7e]{1,500}$/.test(text)) return text;
  throw new Fault(
    'must be the secret that the provider gave you for this service: printable ASCII without spaces',
    'the one that its settings show',
  );
}

function providerName(text: string): string {
  if (/^[^\p{C}]{1,40}$/u.test(text)) return text;
  throw new Fault(`must be 1 to 40 characters, not ${quote(text)}`, 'Example Login');
}

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];

function logLevel(text: string): string {
  if (logLevels.includes(text)) return text;
  throw new Fault(`must be one of ${logLevels.join(', ')}, not ${quote(text)}`, 'info');
}

function quote(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}
