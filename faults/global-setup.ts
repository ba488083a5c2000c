/** Prepares a run, its seed and a database template; prints the counts of the scenarios at the end. */
import { randomInt } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeTemplate } from '../harness/embedded.ts';
import { align } from '../harness/figures.ts';
import { seedVariable } from '../harness/random.ts';
import { endRun, isRunStarted, runFolder, startRun } from '../harness/run.ts';

const seedMax = 2 ** 31;

export async function globalSetup(): Promise<void> {
  process.env[seedVariable] ??= String(randomInt(seedMax));
  printSeed();
  startRun('faults');
  await makeTemplate();
}

/** Called twice if the run is interrupted. */
export async function globalTeardown(): Promise<void> {
  if (!isRunStarted()) return;
  if (existsSync(countsFile())) console.log(`\n${table(readFileSync(countsFile(), 'utf8'))}`);
  printSeed();
  await endRun();
}

/** The processes of the scenarios write a line of JSON each. */
export function countsFile(): string {
  return join(runFolder(), 'counts.ndjson');
}

function table(text: string): string {
  const lines = text.trimEnd().split('\n');
  const rows = lines.map((line) => JSON.parse(line) as Record<string, string | number>);
  const cells = rows.map((row) => Object.values(row).map(String));
  return align([Object.keys(rows[0] ?? {}), ...cells]).join('\n');
}

function printSeed(): void {
  console.log(`Random moments: ${seedVariable}=${process.env[seedVariable]}`);
}
