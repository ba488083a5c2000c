/**
 * The types of settings. Each checks and decodes the text of an environment variable. Its description completes the
 * error message "NAME must be …, for example …".
 */
import { availableParallelism } from 'node:os';
import ipaddr from 'ipaddr.js';
import { parseSchedule } from '../runtime/cron.ts';

export type SettingType<T> = {
  description: string;
  /** Null for an invalid text. */
  parse: (text: string) => T | null;
  examples?: string[];
  /** A secret never appears in a message. `password`: only the password of an address is secret. */
  secret?: 'value' | 'password';
};
type Options = Pick<SettingType<unknown>, 'examples' | 'secret'>;

function parsed<T>(
  description: string,
  parse: (text: string) => T | null,
  options: Options = {},
): SettingType<T> {
  return { description, parse, ...options };
}

function matching<T = string>(
  description: string,
  pattern: RegExp,
  convert: (text: string) => T = (text) => text as T,
  options: Options = {},
): SettingType<T> {
  return parsed(description, (text) => (pattern.test(text) ? convert(text) : null), options);
}

const list = (item: string) => new RegExp(`^${item}(\\s*,\\s*${item})*$`);
const split = (value: string) => value.split(',').map((part) => part.trim());

export const wholeNumber = (least: number, most: number) =>
  parsed(`a whole number from ${least} to ${most}`, (value) => {
    const number = /^\d{1,10}$/.test(value) ? Number(value) : Number.NaN;
    return number >= least && number <= most ? number : null;
  });

export const share = matching('a number from 0 to 1', /^(0(\.\d+)?|1(\.0+)?)$/, Number);

export const flag = matching('true or false', /^(true|false)$/, (value) => value === 'true', {
  examples: ['true'],
});

export const hostName = parsed('a host name or an IP address', (value) =>
  /^[A-Za-z0-9.:_-]{1,255}$/.test(value) && URL.canParse(`http://${inUrl(value)}`) ? value : null,
);

export function inUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

/** In lower case, without the trailing dot of a fully qualified name. */
export const hostNames = matching(
  'host names without ports, separated by commas',
  list('[\\w-]+(\\.[\\w-]+)*\\.?'),
  (value) => split(value.toLowerCase()).map((name) => name.replace(/\.$/, '')),
);

export const networks = parsed(
  'networks in CIDR notation, separated by commas',
  (value) => {
    const names = split(value).filter((name) => name !== '');
    return names.every((name) => ipaddr.isValidCIDR(name)) ? names : null;
  },
  { examples: ['127.0.0.0/8,::1/128'] },
);

/** A network that contains every address would let any caller say which one it has. */
export const proxyNetworks = parsed(
  'networks in CIDR notation that contain fewer than all addresses, separated by commas',
  (value) => {
    const names = networks.parse(value);
    return names?.some((name) => ipaddr.parseCIDR(name)[1] === 0) ? null : names;
  },
  { examples: ['127.0.0.0/8,::1/128'] },
);

export const roles = matching(
  'api, worker or both',
  list('(api|worker)'),
  (value) => new Set(split(value)) as ReadonlySet<'api' | 'worker'>,
);

const workersMax = 64;
export const workers = parsed(
  `a whole number from 1 to ${workersMax}, or auto (the number of cores)`,
  (value) => {
    if (value === 'auto')
      return { count: Math.min(availableParallelism(), workersMax), auto: true };
    const count = wholeNumber(1, workersMax).parse(value);
    return count === null ? null : { count, auto: false };
  },
  { examples: ['4', 'auto'] },
);

export const secondFactorRule = matching(
  'none, managers or all',
  /^(none|managers|all)$/,
  (value) => value as 'none' | 'managers' | 'all',
);

const levels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];
export const logLevel = matching(
  `one of ${levels.join(', ')}`,
  new RegExp(`^(${levels.join('|')})$`),
);

export const folder = matching('a folder', /./);
export const file = matching('a file', /./);
export const color = matching(
  'a colour of six hexadecimal digits',
  /^#[0-9A-Fa-f]{6}$/,
  (value) => value.toLowerCase(),
  { examples: ['#364fc7'] },
);
export const label = matching('1 to 40 characters', /^[^\p{C}]{1,40}$/u);
export const headerWord = matching(
  'one word of at most 40 ASCII letters and digits, because it begins header names',
  /^[A-Za-z][A-Za-z0-9]{0,39}$/,
);

/** Without a slash at the end. */
const plainUrl = (example: string) =>
  parsed(
    'an http or https address without query or credentials',
    (value) => {
      const url = URL.parse(value);
      const isPlain = url && !url.search && !url.hash && !url.username && !url.password;
      return isPlain && /^https?:$/.test(url.protocol) ? url.href.replace(/\/+$/, '') : null;
    },
    { examples: [example], secret: 'password' },
  );

export const baseUrl = plainUrl('https://directory.example.org');
export const collectorUrl = plainUrl('http://127.0.0.1:4318');

export const postgresUrl = parsed(
  'a PostgreSQL address (several hosts separated by commas before the path; target_session_attrs is read-write or primary; sslmode is disable, require, verify-full or no-verify)',
  (value) => (splitHosts(value).every(isPostgresHost) ? tidyParameters(value) : null),
  {
    examples: [
      'postgres://orgdir:password@127.0.0.1:5432/orgdir',
      'postgres://orgdir:password@a:5432,b:5432/orgdir?target_session_attrs=read-write',
    ],
    secret: 'password',
  },
);

const addressEnd = /[\s,]+(?=\w+:\/\/)/;
export const replicaUrls = parsed(
  'PostgreSQL addresses of one host each, separated by commas',
  (value) => {
    const addresses = value.split(addressEnd);
    const isOneHost = (address: string) => !/[\s,]/.test(address) && isPostgresHost(address);
    return addresses.every(isOneHost) ? addresses.map(tidyParameters) : null;
  },
  { examples: ['postgres://orgdir:password@b:5432/orgdir'], secret: 'password' },
);

/** The addresses of the hosts in a PostgreSQL address, which may name several before its path, as libpq allows. */
export function splitHosts(address: string): string[] {
  const [, start = '', hosts = '', rest = ''] =
    /^(\w+:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/.exec(address) ?? [];
  return hosts.includes(',') ? hosts.split(',').map((host) => `${start}${host}${rest}`) : [address];
}

/** Whether the primary has to be found among the hosts. */
export function namesServers(address: string): boolean {
  const [first = '', ...others] = splitHosts(address);
  return others.length > 0 || URL.parse(first)?.searchParams.has('target_session_attrs') === true;
}

/** What the service sets for each of its connections. `pg` would prefer what the address says. */
const ownParameters =
  /^(application_name|options|client_encoding|(statement|lock|query|idle_in_transaction_session)_timeout)=/;
/** To `pg` they are the same as verify-full, but it warns of that, on several lines. */
const verifyingModes = /^sslmode=(prefer|require|verify-ca)$/;

/** Leaves out what has no effect. */
function tidyParameters(address: string): string {
  const [start = '', ...rest] = address.split('?');
  const given = rest.join('?').split('&');
  const isPlain = !given.some((parameter) => parameter.startsWith('uselibpqcompat='));
  const kept = given
    .filter((parameter) => parameter !== '' && !ownParameters.test(parameter))
    .map((parameter) =>
      isPlain ? parameter.replace(verifyingModes, 'sslmode=verify-full') : parameter,
    );
  return kept.length > 0 ? `${start}?${kept.join('&')}` : start;
}

const sslModes = /^(disable|prefer|require|verify-ca|verify-full|no-verify)$/;
/** Those of libpq, so that an address can be used with `psql` too; without effect are those that `pg` does not know. */
const sslParameters =
  /^(ssl(mode|cert|key|rootcert|negotiation|password|certmode|sni|compression|crl|crldir)?|ssl_(min|max)_protocol_version)$/;

/** A misspelt parameter would connect without TLS. */
function hasKnownTls(parameters: URLSearchParams): boolean {
  const names = [...parameters.keys()].filter((name) => /^ssl/i.test(name));
  return (
    names.every((name) => sslParameters.test(name)) &&
    sslModes.test(parameters.get('sslmode') ?? 'disable')
  );
}

function isPostgresHost(address: string): boolean {
  const url = URL.parse(address);
  const attributes = url?.searchParams.get('target_session_attrs') ?? 'read-write';
  return (
    url !== null &&
    /^postgres(ql)?:$/.test(url.protocol) &&
    // libpq also takes several hosts here.
    !url.searchParams.get('host')?.includes(',') &&
    /^(read-write|primary)$/.test(attributes) &&
    hasKnownTls(url.searchParams)
  );
}

export const secretKeys = matching(
  '32 bytes in base64 (several separated by commas)',
  list('[A-Za-z0-9+/]{43}='),
  (value) => split(value).map((key) => Buffer.from(key, 'base64')),
  { examples: ['the output of: openssl rand -base64 32'], secret: 'value' },
);

/** A value that a provider shows. */
const given = (description: string, options: Options) =>
  matching(
    `${description} (printable ASCII without spaces)`,
    /^[\x21-\x7e]{1,500}$/,
    undefined,
    options,
  );

export const clientId = given('the id that the provider gave you for this service', {
  examples: ['Iv1.0123456789abcdef'],
});
export const clientSecret = given('the secret that the provider gave you for this service', {
  examples: ['the one that its settings show'],
  secret: 'value',
});
export const botToken = given('the token of your bot, without Bot before it', {
  examples: ['the one that the Discord Developer Portal shows'],
  secret: 'value',
});

export const schedule = parsed(
  'a cron schedule of five fields, in UTC, that comes due',
  parseSchedule,
  { examples: ['0 4 * * *'] },
);

/** User and password are sent decoded, so the percent-encoding must be valid. */
export const sourceUrl = parsed(
  'an http, https or file address',
  (value) => {
    const url = URL.parse(value);
    if (!url || !/^(https?|file):$/.test(url.protocol)) return null;
    if ((url.protocol === 'file:') !== (url.hostname === '')) return null;
    return decode(url.username + url.password + url.pathname) === null ? null : value;
  },
  { examples: ['https://example.org/blueprints.ndjson'], secret: 'password' },
);

/** Null for what is not percent-encoded UTF-8. */
export function decode(encoded: string): string | null {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return null;
  }
}

/** Only ASCII, so that every server accepts it and no header can be injected. */
export const mailAddress = parsed(
  'one address in plain letters, with or without a name',
  (value) => {
    const [, name = '', address = value] =
      /^([A-Za-z0-9 ._'-]{1,80}) <([^<>]+)>$/.exec(value) ?? [];
    const isPlain = /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9.-]{1,253}$/.test(address);
    return isPlain ? { name: name.trim(), address } : null;
  },
  { examples: ['Directory <no-reply@example.org>'] },
);

export const mailServer = parsed(
  'an smtp or smtps address, with a user and a password or neither, and nothing after the port',
  parseMailServer,
  { examples: ['smtp://user:password@mail.example.org:587'], secret: 'password' },
);

function parseMailServer(value: string) {
  const url = URL.parse(value);
  if (!url || !/^smtps?:$/.test(url.protocol) || url.hostname === '') return null;
  if (!/^\/?$/.test(url.pathname + url.search + url.hash)) return null;
  const [user, password] = [decode(url.username), decode(url.password)];
  if (user === null || password === null || (user === '') !== (password === '')) return null;
  const credentials = user === '' ? null : { user, password };
  const secure = url.protocol === 'smtps:';
  const isLocal = isLoopback(url.hostname);
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (secure ? 465 : credentials ? 587 : 25) : Number(url.port),
    /** TLS from the first byte. */
    secure,
    /** A sign-in link in clear text is worth as much as a password. */
    requireTls: !secure && !isLocal,
    /** Nobody can intercept the connection to a server on this machine, and its certificate is often self-signed. */
    verifyCertificate: !isLocal,
    credentials,
  };
}

export function isLoopback(hostname: string): boolean {
  return /^((.+\.)?localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
}
