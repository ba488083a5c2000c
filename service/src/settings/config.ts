/** Groups the settings by their use, and checks the rules between them. Finds misspelt settings, and secrets to hide. */
import { resolve } from 'node:path';
import ipaddr from 'ipaddr.js';
import { StartError } from '../errors.ts';
import {
  listSettings,
  readSettings,
  type Environment,
  type Settings,
  settings,
  type Fault,
} from './settings.ts';
import { decode, inUrl, isLoopback } from './setting-types.ts';

export type Config = ReturnType<typeof readConfig>['config'];
export type Network = Config['webhooks']['allowedNetworks'][number];
/** The mail server and the sender address. */
export type MailSettings = NonNullable<Config['mail']>;

/** Each has up to 11 of its 125 connections, and the process that starts them has up to 22. */
const embeddedWorkersMax = 8;

/** Throws a `StartError` with a line for each invalid or misspelt variable. */
export function loadConfig(env: Environment): Config {
  const { config, faults } = readConfig(env);
  if (faults.length > 0) throw new StartError(faults.map(({ message }) => message).join('\n'));
  return config;
}

/** Invalid variables count as not set. */
export function readConfig(env: Environment) {
  const { values, faults } = readSettings(env);
  faults.push(...findMisspelt(env).faults);
  const config = {
    ...toConfig(values),
    settingsInForce: listSettings(env),
    secretsToHide: listSecrets(env),
  };
  const { host, port, internal } = config;
  const meet = [host, internal.host].some((each) => each === '0.0.0.0' || each === '::');
  // With 0 the system chooses two different ports.
  if (config.roles.has('api') && port === internal.port && port !== 0)
    if (meet || host === internal.host)
      faults.push({
        variables: ['PORT', 'INTERNAL_PORT'],
        message: `INTERNAL_PORT must differ from PORT, which is also ${port}, for example ${port < 65_535 ? port + 1 : 3001}`,
      });
  if (config.workers > embeddedWorkersMax && config.databaseUrl === null)
    faults.push({
      variables: ['WORKERS'],
      message: `WORKERS must be at most ${embeddedWorkersMax} with the embedded database, which accepts 125 connections; for more, set DATABASE_URL`,
    });
  return { config, faults };
}

function toConfig(values: Settings) {
  const { HOST: host, PORT: port, TRUST_PROXY: trustProxy, SMTP_URL, MAIL_FROM } = values;
  const publicUrl = values.PUBLIC_URL ?? new URL(httpAddress(host, port)).origin;
  const mail = SMTP_URL && MAIL_FROM && { ...SMTP_URL, from: MAIL_FROM };
  return {
    host,
    port,
    publicUrl,
    publicUrlIsSet: values.PUBLIC_URL !== null,
    serviceName: values.SERVICE_NAME,
    /** `logoFile` null: a mark of our own. */
    brand: { color: values.BRAND_COLOR, logoFile: values.BRAND_LOGO },
    /** Whether anybody may read the directory as web pages. Null: only if it is the demo's. */
    directoryPages: values.DIRECTORY_PAGES,
    /** Whether these pages show the images of entries, which browsers load from other sites. */
    directoryPagesImages: values.DIRECTORY_PAGES_IMAGES,
    databaseUrl: values.DATABASE_URL,
    /** The server itself, if `databaseUrl` leads to a pooler. */
    databaseDirectUrl: values.DATABASE_DIRECT_URL,
    databaseReadUrls: values.DATABASE_READ_URLS ?? [],
    dataDir: resolve(values.DATA_DIR),
    /** Newest first: the first encrypts, all decrypt. Null: generated into `dataDir`. */
    secretKeys: values.SECRET_KEY,
    roles: values.ROLES,
    workers: workerProcesses(values),
    internal: internalListener(values),
    webhooks: webhookSettings(values),
    retentionDays: values.RETENTION_DAYS,
    /** For each key, or for each address without a valid key. 0: no limit. */
    rateLimitPerMinute: values.RATE_LIMIT_PER_MINUTE,
    trustProxy,
    /** Null: no mail is sent. */
    mail,
    signIn: {
      ...providers(values),
      /** Whose sign-in needs a second factor, whether the account has one or not. */
      requireSecondFactor: values.REQUIRE_SECOND_FACTOR,
      /** Without mail, links are printed on the terminal, but only if no proxy could expose the service to others. */
      printLinks:
        !mail &&
        trustProxy.length === 0 &&
        isLoopback(inUrl(host)) &&
        isLoopback(new URL(publicUrl).hostname),
    },
    syncs: syncs(values),
    /** `endpoint` null: no traces. */
    tracing: {
      endpoint: values.OTEL_EXPORTER_OTLP_ENDPOINT,
      ratio: values.OTEL_TRACES_SAMPLER_ARG,
    },
    logLevel: values.LOG_LEVEL,
  };
}

/** 1: the worker runs in the process itself. */
function workerProcesses({ ROLES, WORKERS: { count, auto }, DATABASE_URL }: Settings): number {
  if (!ROLES.has('worker')) return 1;
  return auto && DATABASE_URL === null ? Math.min(count, embeddedWorkersMax) : count;
}

/** The listener for metrics, health and the internal API, in every process; never on the public port. */
function internalListener({ INTERNAL_HOST, INTERNAL_PORT, INTERNAL_ALLOWED_HOSTS }: Settings) {
  return {
    host: INTERNAL_HOST,
    port: INTERNAL_PORT,
    /** The lower-cased names that a Host header may have there; IP addresses always pass. */
    allowedHosts: new Set([...INTERNAL_ALLOWED_HOSTS, INTERNAL_HOST.toLowerCase()]),
  };
}

function webhookSettings(values: Settings) {
  return {
    allowedNetworks: values.WEBHOOK_ALLOWED_NETWORKS.map((name) => ipaddr.parseCIDR(name)),
    allowHttp: values.WEBHOOK_ALLOW_HTTP,
    timeoutMs: values.WEBHOOK_TIMEOUT_MS,
    /** Added to the deadline to leave time to record the attempt; both together are the lease. */
    leaseMarginMs: values.WEBHOOK_LEASE_MARGIN_MS,
    retryBaseMs: values.WEBHOOK_RETRY_BASE_MS,
    retryFactor: values.WEBHOOK_RETRY_FACTOR,
    deactivateAfter: values.WEBHOOK_DEACTIVATE_AFTER,
  };
}

/** Sign-in providers for the portal in addition to email and password. Null: not offered. */
function providers(values: Settings) {
  const oidc = client(values.OIDC_CLIENT_ID, values.OIDC_CLIENT_SECRET);
  const issuer = values.OIDC_ISSUER_URL;
  return {
    github: client(values.GITHUB_CLIENT_ID, values.GITHUB_CLIENT_SECRET),
    discord: client(values.DISCORD_CLIENT_ID, values.DISCORD_CLIENT_SECRET),
    oidc: oidc && issuer ? { ...oidc, issuer, name: values.OIDC_NAME } : null,
  };
}

function client(clientId: string | null, clientSecret: string | null) {
  return clientId && clientSecret ? { clientId, clientSecret } : null;
}

/** Null: no source or provider is configured. A sync without a schedule runs only on request. */
function syncs(values: Settings) {
  const { SYNC_BLUEPRINTS_URL: source, CHAT_TOKEN: token } = values;
  const chat = { baseUrl: values.CHAT_BASE_URL, schedule: values.SYNC_CHAT_CRON };
  return {
    blueprints: source ? { source, schedule: values.SYNC_BLUEPRINTS_CRON } : null,
    chat: token ? { token, ...chat } : null,
  };
}

/** `http://HOST:PORT`, with brackets around an IPv6 address. */
export function httpAddress(host: string, port: number): string {
  return `http://${inUrl(host)}:${port}`;
}

const secrets = (kind: 'value' | 'password') =>
  Object.keys(settings).filter((name) => settings[name]?.type.secret === kind);
/** Shorter values are not secrets worth protecting, and would match ordinary words. */
const secretLengthMin = 3;

/** The secrets of the environment, the longest first. */
export function listSecrets(env: Readonly<Record<string, string | undefined>>): string[] {
  return [
    ...secrets('value').flatMap((name) => (env[name] ?? '').split(',').map((part) => part.trim())),
    ...secrets('password').flatMap((name) =>
      // DATABASE_READ_URLS has several addresses.
      (env[name] ?? '').split(/[\s,]+(?=\w+:\/\/)/).flatMap(passwordsOf),
    ),
  ]
    .filter((secret) => secret.length >= secretLengthMin)
    .sort((one, other) => other.length - one.length);
}

/** Removes secrets of the environment from a text, wherever they come from. */
export function redact(text: string, hidden: string[]): string {
  return hidden.reduce((rest, secret) => rest.replaceAll(secret, '***'), text);
}

/** The password as written and decoded; if the text is not a valid address, everything between `:` and the last `@`. */
function passwordsOf(address: string): string[] {
  const url = URL.parse(address);
  const written = url
    ? [url.password, url.searchParams.get('password') ?? '']
    : [/:([^@]*)@/.exec(address.replace(/^[a-z]+:\/\//i, ''))?.[1] ?? ''];
  return written.flatMap((password) => [password, decode(password) ?? password]);
}

type LookAlike = { variable: string; setting: string };
type Misspelt = {
  /** So close to a setting that is not set that the service must not start without it. */
  faults: Fault[];
  /** May belong to another program. */
  suspects: LookAlike[];
};

/** Kubernetes makes these for each of its services, whatever their names. The value of `*_PORT` is an address there. */
const ofKubernetes = /_SERVICE_HOST$|_SERVICE_PORT(_|$)|_PORT_\d+_(TCP|UDP|SCTP)(_|$)/;
const addressOfKubernetes = /^(tcp|udp|sctp):\/\//;
/** Shorter names are too close to those of other programs. */
const longNameLength = 8;
/** A name further away is another word. */
const distanceMax = 2;
const prefix = /^ORGDIR_/;

/** Finds variables that look like settings and are none: a misspelt one would otherwise count as not set. */
export function findMisspelt(env: Environment): Misspelt {
  const found: Misspelt = { faults: [], suspects: [] };
  for (const [variable, value] of Object.entries(env)) {
    if (!value?.trim() || variable in settings) continue;
    if (ofKubernetes.test(variable) || addressOfKubernetes.test(value)) continue;
    const candidates = Object.keys(settings)
      .map((setting) => ({ setting, distance: measureDistance(variable, setting) }))
      .sort((one, other) => one.distance - other.distance);
    const fault = candidates.find(
      ({ setting, distance }) =>
        distance === 1 && setting.length >= longNameLength && !env[setting]?.trim(),
    );
    const suspect = candidates.find(
      ({ setting, distance }) =>
        distance <= (setting.length >= longNameLength ? distanceMax : 1) ||
        normalize(variable) === normalize(setting),
    );
    if (fault) found.faults.push(toFault(variable, fault.setting));
    else if (suspect) found.suspects.push({ variable, setting: suspect.setting });
  }
  return found;
}

function toFault(variable: string, setting: string): Fault {
  return {
    // What depends on the setting cannot be checked either.
    variables: [variable, setting],
    message: `${variable} is not a setting; rename it to ${setting}, or remove it if it is not meant for this service`,
  };
}

function normalize(name: string): string {
  return name
    .toUpperCase()
    .replace(prefix, '')
    .replaceAll(/[^A-Z0-9]/g, '');
}

/** The number of letters to insert, delete, replace or swap with the next one. */
function measureDistance(one: string, other: string): number {
  // No less, and already too much.
  const difference = Math.abs(one.length - other.length);
  if (difference > distanceMax) return difference;
  const rows = [Array.from({ length: other.length + 1 }, (_, column) => column)];
  const at = (row: number, column: number) => rows[row]?.[column] ?? Number.POSITIVE_INFINITY;
  for (let row = 1; row <= one.length; row += 1) {
    rows[row] = [row];
    for (let column = 1; column <= other.length; column += 1) {
      const change = one[row - 1] === other[column - 1] ? 0 : 1;
      const isSwap = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      rows[row]![column] = Math.min(
        at(row - 1, column) + 1,
        at(row, column - 1) + 1,
        at(row - 1, column - 1) + change,
        isSwap ? at(row - 2, column - 2) + 1 : Number.POSITIVE_INFINITY,
      );
    }
  }
  return at(one.length, other.length);
}
