/** Starts the comparison of rows with their declared types for a test run, and reports the differences at its end. */
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readDeclaredTypes, type Statements } from './declared.ts';
import { declaredFile, observedFile, rowTypesVariable, type Observation } from './observe.ts';

/**
 * Returns the function that ends the comparison. With `all`, every statement must have returned a row; a run of some
 * test files cannot have that.
 */
export async function startRowTypes(scope: string): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'orgdir-row-types-'));
  const declared = readOrExit(folder);
  writeFileSync(join(folder, declaredFile), JSON.stringify(declared));
  writeFileSync(join(folder, observedFile), '');
  process.env[rowTypesVariable] = folder;
  return async () => {
    const lines = readFileSync(join(folder, observedFile), 'utf8').split('\n').slice(0, -1);
    await rm(folder, { recursive: true });
    const observed = lines.map((line) => JSON.parse(line) as Observation);
    const complaints = [
      ...findDifferences(declared, observed),
      ...(scope === 'all' ? findUnseen(declared, observed) : []),
    ];
    if (complaints.length === 0) return;
    // The test runner shows nothing of what a teardown throws.
    console.error(`\n${complaints.join('\n')}\nSee "Row types" in CONTRIBUTING.md.`);
    process.exitCode = 1;
  };
}

/** The test runner ends with 0 and without a word after a setup that throws late. */
function readOrExit(folder: string): Statements {
  try {
    return readDeclaredTypes(folder);
  } catch (error) {
    console.error(error);
    return process.exit(1);
  }
}

function findDifferences(declared: Statements, observed: Observation[]): string[] {
  const found = observed
    .filter(({ column }) => column !== null)
    .map(({ key, column, difference }): [string, string] => [
      `${declared[key]?.place} ${column}:`,
      difference,
    ]);
  // Several processes may have seen the same column.
  return [...new Map(found)].map((words) => words.join(' ')).toSorted();
}

function findUnseen(declared: Statements, observed: Observation[]): string[] {
  const seen = new Set(observed.map(({ key }) => key));
  return Object.entries(declared)
    .filter(([key]) => !seen.has(key))
    .map(([, { place }]) => `${place} returned no row in any test, so its type is unchecked`);
}
