/**
 * The only reader of the environment. Each variable is checked when the process starts; a bad one
 * stops it with one line that names the variable, the fault and an example.
 */
import { resolve } from 'node:path';
import ipaddr from 'ipaddr.js';
import { StartError } from './errors.ts';

export type Network = [ipaddr.IPv4 | ipaddr.IPv6, number];
type Role = 'api' | 'worker';
export type Config = ReturnType<typeof loadConfig>;

type Environment = Readonly<Record<string, string | undefined>>;

/** Reads the configuration. Throws a `StartError` for the first variable that is wrong. */
export function loadConfig(env: Environment) {
  const host = read(env, 'HOST', '127.0.0.1', hostName);
  const port = read(env, 'PORT', '3000', wholeNumber(0, 65_535, '3000'));
  return {
    host,
    port,
    publicUrl: read(env, 'PUBLIC_URL', httpAddress(host, port), baseUrl),
    serviceName: read(env, 'SERVICE_NAME', 'Service', headerWord),
    databaseUrl: optional(env, 'DATABASE_URL', postgresUrl),
    dataDir: resolve(
      read(env, 'DATA_DIR', process.getuid?.() === 0 ? '/var/lib/orgdir' : './data', folder),
    ),
    /** Newest first: the first encrypts, all decrypt. Null: generated into `dataDir`. */
    secretKeys: optional(env, 'SECRET_KEY', secretKeys),
    roles: read(env, 'ROLES', 'api,worker', roles),
    webhooks: {
      allowedNetworks: read(env, 'WEBHOOK_ALLOWED_NETWORKS', '', networks),
      allowHttp: read(env, 'WEBHOOK_ALLOW_HTTP', 'false', trueOrFalse),
      timeoutMs: read(env, 'WEBHOOK_TIMEOUT_MS', '10000', wholeNumber(100, 30_000, '10000')),
      /** Beyond the deadline, to record the attempt: a lease is both together. */
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
    /** Requests a minute and key, or address without a valid key. 0: no limit. */
    rateLimitPerMinute: read(
      env,
      'RATE_LIMIT_PER_MINUTE',
      '600',
      wholeNumber(0, 1_000_000_000, '600'),
    ),
    trustProxy: read(env, 'TRUST_PROXY', '', networkNames),
    logLevel: read(env, 'LOG_LEVEL', 'info', logLevel),
  };
}

/** `http://HOST:PORT`, with brackets around an IPv6 address. */
export function httpAddress(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
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

function baseUrl(text: string): string {
  const url = URL.parse(text);
  const isPlain = url && !url.search && !url.hash && !url.username && !url.password;
  if (isPlain && /^https?:$/.test(url.protocol)) return url.href.replace(/\/+$/, '');
  // The value is not repeated: it may hold credentials.
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
  // The value is not repeated: it may hold a password.
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
      'must be 32 bytes in base64 (several with commas between)',
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
      throw new Fault(`must hold networks in CIDR form, not ${quote(name)}`, '127.0.0.0/8,::1/128');
  }
  return names;
}

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];

function logLevel(text: string): string {
  if (logLevels.includes(text)) return text;
  throw new Fault(`must be one of ${logLevels.join(', ')}, not ${quote(text)}`, 'info');
}

function quote(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}
