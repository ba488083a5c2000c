/** The table of all settings, which are environment variables. `.env.example` describes them to operators. */
import * as types from './setting-types.ts';

export type Environment = Readonly<Record<string, string | undefined>>;
/** `variables` are the ones to correct: the invalid one, or a missing one and the one that requires it. */
export type Fault = { variables: string[]; message: string };
type Setting = {
  type: types.SettingType<unknown>;
  /** A setting without a default is null if its variable is not set. */
  default?: string;
  /** Another setting that must be set if this one is. */
  requires?: string;
};

const dataDir = process.getuid?.() === 0 ? '/var/lib/orgdir' : './data';

const table = {
  HOST: { type: types.hostName, default: '127.0.0.1' },
  PORT: { type: types.wholeNumber(0, 65_535), default: '3000' },
  INTERNAL_HOST: { type: types.hostName, default: '127.0.0.1' },
  INTERNAL_PORT: { type: types.wholeNumber(0, 65_535), default: '3001' },
  INTERNAL_ALLOWED_HOSTS: { type: types.hostNames, default: 'localhost' },
  PUBLIC_URL: { type: types.baseUrl },
  SERVICE_NAME: { type: types.headerWord, default: 'Service' },
  BRAND_COLOR: { type: types.color, default: '#364fc7' },
  BRAND_LOGO: { type: types.file },
  DIRECTORY_PAGES: { type: types.flag },
  DIRECTORY_PAGES_IMAGES: { type: types.flag, default: 'false' },
  DATABASE_URL: { type: types.postgresUrl },
  DATABASE_DIRECT_URL: { type: types.postgresUrl, requires: 'DATABASE_URL' },
  DATABASE_READ_URLS: { type: types.replicaUrls, requires: 'DATABASE_URL' },
  DATA_DIR: { type: types.folder, default: dataDir },
  SECRET_KEY: { type: types.secretKeys },
  ROLES: { type: types.roles, default: 'api,worker' },
  WORKERS: { type: types.workers, default: '1' },
  WEBHOOK_ALLOWED_NETWORKS: { type: types.networks, default: '' },
  WEBHOOK_ALLOW_HTTP: { type: types.flag, default: 'false' },
  WEBHOOK_TIMEOUT_MS: { type: types.wholeNumber(100, 30_000), default: '10000' },
  WEBHOOK_LEASE_MARGIN_MS: { type: types.wholeNumber(100, 600_000), default: '20000' },
  WEBHOOK_RETRY_BASE_MS: { type: types.wholeNumber(1, 3_600_000), default: '10000' },
  WEBHOOK_RETRY_FACTOR: { type: types.wholeNumber(1, 100), default: '6' },
  WEBHOOK_DEACTIVATE_AFTER: { type: types.wholeNumber(1, 1_000_000), default: '5' },
  RETENTION_DAYS: { type: types.wholeNumber(1, 3650), default: '30' },
  RATE_LIMIT_PER_MINUTE: { type: types.wholeNumber(0, 1_000_000_000), default: '600' },
  TRUST_PROXY: { type: types.proxyNetworks, default: '' },
  SMTP_URL: { type: types.mailServer, requires: 'MAIL_FROM' },
  MAIL_FROM: { type: types.mailAddress },
  GITHUB_CLIENT_ID: { type: types.clientId, requires: 'GITHUB_CLIENT_SECRET' },
  GITHUB_CLIENT_SECRET: { type: types.clientSecret, requires: 'GITHUB_CLIENT_ID' },
  DISCORD_CLIENT_ID: { type: types.clientId, requires: 'DISCORD_CLIENT_SECRET' },
  DISCORD_CLIENT_SECRET: { type: types.clientSecret, requires: 'DISCORD_CLIENT_ID' },
  OIDC_ISSUER_URL: { type: types.baseUrl, requires: 'OIDC_CLIENT_ID' },
  OIDC_CLIENT_ID: { type: types.clientId, requires: 'OIDC_CLIENT_SECRET' },
  OIDC_CLIENT_SECRET: { type: types.clientSecret, requires: 'OIDC_ISSUER_URL' },
  OIDC_NAME: { type: types.label, default: 'OpenID Connect' },
  REQUIRE_SECOND_FACTOR: { type: types.secondFactorRule, default: 'none' },
  SYNC_BLUEPRINTS_URL: { type: types.sourceUrl },
  SYNC_BLUEPRINTS_CRON: { type: types.schedule, requires: 'SYNC_BLUEPRINTS_URL' },
  CHAT_TOKEN: { type: types.botToken },
  CHAT_BASE_URL: { type: types.baseUrl, default: 'https://discord.com/api/v10' },
  SYNC_CHAT_CRON: { type: types.schedule, requires: 'CHAT_TOKEN' },
  OTEL_EXPORTER_OTLP_ENDPOINT: { type: types.collectorUrl },
  OTEL_TRACES_SAMPLER_ARG: { type: types.share, default: '1' },
  LOG_LEVEL: { type: types.logLevel, default: 'info' },
} as const satisfies Record<string, Setting>;

type Table = typeof table;
export type Settings = {
  [Name in keyof Table]:
    | NonNullable<ReturnType<Table[Name]['type']['parse']>>
    | (Table[Name] extends { default: string } ? never : null);
};

export const settings: Readonly<Record<string, Setting>> = table;

/** An invalid variable is a fault and counts as not set. */
export function readSettings(env: Environment): { values: Settings; faults: Fault[] } {
  const faults: Fault[] = [];
  const values: Record<string, unknown> = {};
  for (const [name, { type, requires, default: fallback }] of Object.entries(settings)) {
    const text = env[name]?.trim() || fallback;
    const value = text === undefined ? null : type.parse(text);
    const isInvalid = text !== undefined && value === null;
    values[name] = isInvalid && fallback !== undefined ? type.parse(fallback) : value;
    if (isInvalid)
      faults.push({ variables: [name], message: `${name} must be ${describe(name, text)}` });
    else if (requires && text !== undefined && !env[requires]?.trim())
      faults.push({
        variables: [name, requires],
        message: `${requires} must be set if ${name} is set: ${describe(requires)}`,
      });
  }
  return { values: values as Settings, faults };
}

function describe(name: string, invalid?: string): string {
  const { type, default: fallback } = settings[name] as Setting;
  const value = invalid === undefined || type.secret ? '' : `, not ${quote(invalid)}`;
  return `${type.description}${value}, for example ${type.examples?.[0] ?? fallback}`;
}

function quote(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}

export type SettingInForce = { name: string; value: string | null; isDefault: boolean };

/** The settings in force for people who look at them: no secret, and of an address with a password only the host. */
export function listSettings(env: Environment): SettingInForce[] {
  return Object.entries(settings).map(([name, { type, default: fallback }]) => {
    const text = env[name]?.trim() || undefined;
    const value = text ?? fallback;
    return {
      name,
      value: value === undefined ? null : shown(value, type.secret),
      isDefault: text === undefined || text === fallback,
    };
  });
}

function shown(value: string, secret: 'value' | 'password' | undefined): string {
  if (secret === undefined) return value;
  // Paths and parameters may hold tokens, and an address with several hosts is no URL of the standard.
  const url = secret === 'password' ? URL.parse(value) : null;
  return url?.host ? `${url.protocol}//${url.host}` : 'set';
}
