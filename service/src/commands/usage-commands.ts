import type { Command } from 'commander';
import { readApp } from '../access/apps.ts';
import { listUsedApps, readAppUsage } from '../access/usage.ts';
import { usageDays } from '../contract/periods.ts';
import { usageDaysDefault, type AppUsage, type UsedApp } from '../contract/usage.ts';
import type { Database, Change } from '../database/database.ts';
import { addCommand, exampleId, limitOption, parseId, parseInteger } from './parse-option.ts';
import { table, cliActor } from './with-database.ts';
import { changeQuotas, readQuotas, type QuotaInForce } from '../access/quotas.ts';
import { defaultQuotas, quotaNames, quotasMax, type Quota } from '../contract/quotas.ts';
import { ArgumentsError } from './report-error.ts';

type Flags = { app?: string; days: number; limit: number };

const appsMax = 1_000;

export function addUsageCommand(program: Command): void {
  addCommand<Flags>(program, {
    name: 'usage',
    description: 'Show requests, events and deliveries: of all apps, or of one by day and by key.',
    options: [
      ['--app <id>', 'only this app, by day and by key', parseId],
      [
        '--days <count>',
        `how many days, with today, 1 to ${usageDays}`,
        parseInteger(1, usageDays),
        usageDaysDefault,
      ],
      limitOption('apps', appsMax, 50),
    ],
    note: 'Days end at midnight UTC.',
    example: ['--days 7', `--app ${exampleId}`],
    act: ({ database, flags }) => read(database, flags),
  });
}

async function read(database: Database, { app, days, limit }: Flags): Promise<[object, string[]]> {
  if (app === undefined) {
    const { apps } = await listUsedApps(database, { days, page: 1, limit });
    return [apps, tableOfApps(apps)];
  }
  await readApp(database, app);
  const usage = await readAppUsage(database, app, days);
  return [usage, [...tableOfDays(usage), '', ...tableOfKeys(usage)]];
}

const usedHeader = ['REQUESTS', 'ERRORS', 'BYTES', 'EVENTS'];

function usedCells({
  requests,
  errors,
  bytes,
  events,
}: Pick<UsedApp, 'requests' | 'errors' | 'bytes' | 'events'>) {
  return [requests, errors, bytes, events].map(String);
}

function tableOfApps(apps: UsedApp[]): string[] {
  const nameOf = ({ appId, name }: UsedApp) =>
    name ?? (appId === null ? '(platform keys)' : '(deleted)');
  return table(
    ['APP', 'NAME', ...usedHeader, 'DELIVERIES'],
    apps.map((app) => [app.appId ?? '-', nameOf(app), ...usedCells(app), String(app.deliveries)]),
  );
}

function tableOfDays({ days }: AppUsage): string[] {
  return table(
    ['DAY', ...usedHeader, 'DELIVERIES'],
    days.map((day) => [day.day, ...usedCells(day), String(day.deliveries)]),
  );
}

function tableOfKeys({ keys }: AppUsage): string[] {
  return table(
    ['KEY', 'NAME', ...usedHeader],
    keys.map((key) => [key.keyId, key.name ?? '(deleted)', ...usedCells(key)]),
  );
}

const argument = ['<app>', 'id of the app'] as const;

const described: Record<Quota, string> = {
  rate: 'requests per minute with all keys of the app together; each of its keys can use all of them',
  webhooks: `webhooks, by default ${defaultQuotas.webhooks}`,
  keys: `valid keys, by default ${defaultQuotas.keys}`,
  members: `members, by default ${defaultQuotas.members}`,
};

export function addQuotaCommands(program: Command): void {
  const quotas = program
    .command('quotas')
    .description('Show and set how much an app may have and use.');
  addCommand(quotas, {
    name: 'show',
    argument,
    description: 'Show the quotas of an app, and what it has of each.',
    example: exampleId,
    act: ({ database, given }) => show(database, given),
  });
  addCommand<Partial<Record<Quota, number>>>(quotas, {
    name: 'set',
    argument,
    description:
      'Set quotas of an app, in every process within a second. What the app has beyond them stays, and it gets no more.',
    options: quotaNames.map((quota) => [
      `--${quota} <count>`,
      `${described[quota]}; 1 to ${quotasMax[quota]}`,
      parseInteger(1, quotasMax[quota]),
    ]),
    example: `${exampleId} --webhooks 50 --rate 6000`,
    act: ({ database, change, given, flags: { rate, webhooks, keys, members } }) =>
      set({ database, change }, given, { rate, webhooks, keys, members }),
  });
  addCommand<Partial<Record<Quota, boolean>>>(quotas, {
    name: 'unset',
    argument,
    description: 'Return quotas of an app to the defaults.',
    options: quotaNames.map((quota) => [`--${quota}`, `that of ${nouns[quota]}`]),
    example: `${exampleId} --rate`,
    act: ({ database, change, given, flags }) =>
      set(
        { database, change },
        given,
        Object.fromEntries(quotaNames.filter((quota) => flags[quota]).map((each) => [each, null])),
      ),
  });
}

const nouns: Record<Quota, string> = {
  rate: 'requests per minute',
  webhooks: 'webhooks',
  keys: 'keys',
  members: 'members',
};

async function set(
  { database, change }: { database: Database; change: Change },
  appId: string,
  changes: Partial<Record<Quota, number | null | undefined>>,
): Promise<[unknown, string[]]> {
  const given = Object.entries(changes).filter(([, maximum]) => maximum !== undefined);
  if (given.length === 0)
    throw new ArgumentsError({
      path: 'quotas',
      message: `must be one or more of ${quotaNames.map((quota) => `--${quota}`).join(', ')}`,
    });
  await change((tx) => changeQuotas(tx, cliActor(), appId, Object.fromEntries(given)));
  return show(database, appId);
}

async function show(database: Database, appId: string): Promise<[QuotaInForce[], string[]]> {
  const quotas = await readQuotas(database, appId);
  return [
    quotas,
    table(
      ['QUOTA', 'LIMIT', 'SET', 'USED'],
      quotas.map(({ quota, limit, isDefault, used }) => [
        nouns[quota],
        String(limit ?? 'as usual'),
        isDefault ? 'default' : 'yes',
        String(used ?? '-'),
      ]),
    ),
  ];
}
