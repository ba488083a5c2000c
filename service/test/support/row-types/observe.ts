/**
 * Compares the rows that statements of `service/src` return in a test with their declared types. It writes down which
 * statements returned rows and which columns differ; `report.ts` reads that when all tests have ended.
 */
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { getCallSites } from 'node:util';
import { sql, type Database } from '../../../src/database/database.ts';
import type { Statements } from './declared.ts';
import { compareRow } from './shape.ts';

/** The folder of a run that compares rows. */
export const rowTypesVariable = 'ORGDIR_TEST_ROW_TYPES';
export const declaredFile = 'declared.json';
export const observedFile = 'observed';

/** `column` is null for a statement that returned a row, whatever is in it. */
export type Observation = { key: string; column: string | null; difference: string };

type Result = { rows: Record<string, unknown>[] };
type Builder = { execute: (this: Builder, executor: Database) => Promise<Result> };

const root = new URL('../../../../', import.meta.url).href;

/** Kysely does not export its class of statements, so the method is replaced on the prototype of one. */
export function observeRows(folder: string): void {
  const declared = JSON.parse(readFileSync(join(folder, declaredFile), 'utf8')) as Statements;
  const write = createWriter(join(folder, observedFile));
  const prototype = Object.getPrototypeOf(sql``) as Builder;
  const { execute } = prototype;
  prototype.execute = async function (executor) {
    const [call = '', caller = ''] = callSites();
    const result = await execute.call(this, executor);
    const key = call in declared ? call : `${call} ${caller}`;
    for (const row of key in declared ? result.rows : []) {
      write({ key, column: null, difference: '' });
      for (const [column, difference] of Object.entries(compareRow(declared[key]!.shape, row)))
        write({ key, column, difference });
    }
    return result;
  };
}

/** Who called `execute`, and who called that function. */
function callSites(): string[] {
  return getCallSites(4)
    .slice(2)
    .map(
      ({ scriptName, lineNumber, columnNumber }) =>
        `${scriptName.replace(root, '')}:${lineNumber}:${columnNumber}`,
    );
}

/** Writes the first observation of each column at once, because a process may be killed. */
function createWriter(file: string): (observation: Observation) => void {
  const written = new Set<string>();
  return (observation) => {
    const key = `${observation.key} ${observation.column}`;
    if (!written.has(key)) appendFileSync(file, `${JSON.stringify(observation)}\n`);
    written.add(key);
  };
}
