import type { Command } from 'commander';
import { readApp } from '../access/apps.ts';
import { listUsedApps, readAppUsage } from '../access/usage.ts';
import { usageDays } from '../contract/periods.ts';
import { usageDaysDefault, type AppUsage, type UsedApp } from '../contract/usage.ts';
import type { Database } from '../database/database.ts';
import { addCommand, exampleId, limitOption, parseId, parseInteger } from './parse-option.ts';
import { table } from './with-database.ts';

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
