import type { Command } from 'commander';
import { readApp } from '../access/apps.ts';
import { listUsedApps, readAppUsage } from '../access/usage.ts';
import { usageDays } from '../contract/periods.ts';
import { usageDaysDefault, type AppUsage, type UsedApp } from '../contract/usage.ts';
import type { Database } from '../database/database.ts';
import { parseId, parseInteger } from './parse-option.ts';
import { print, table, withDatabase } from './with-database.ts';

type Flags = { app?: string; days: number; limit: number; json?: boolean };

const appsMax = 1_000;

export function addUsageCommand(program: Command): void {
  program
    .command('usage')
    .description('Show requests, events and deliveries: of all apps, or of one by day and by key.')
    .option('--app <id>', 'only this app, by day and by key', parseId)
    .option(
      '--days <count>',
      `how many days, with today, 1 to ${usageDays}`,
      parseInteger(1, usageDays),
      usageDaysDefault,
    )
    .option(
      '--limit <count>',
      `maximum number of apps, 1 to ${appsMax}`,
      parseInteger(1, appsMax),
      50,
    )
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nDays end at midnight UTC. Examples:\n  orgdir usage --days 7\n  orgdir usage --app 0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e7f',
    )
    .action(async ({ json, ...flags }: Flags) => {
      const [found, lines] = await withDatabase(({ database }) => read(database, flags));
      print(json, found, lines);
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
