import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { invitationDays, sessionDays } from '../../src/contract/periods.ts';

const read = (file: string) =>
  readFileSync(join(import.meta.dirname, '../../../docs/reference', file), 'utf8');

/** Each statement of a period in the reference, with the constant that it has to state. */
const statements: [file: string, statement: RegExp, right: number][] = [
  ['errors-and-limits.md', /^\| invitation \| (\d+) days \|$/m, invitationDays],
  ['keys.md', /An invitation is valid for (\d+) days\./, invitationDays],
  ['errors-and-limits.md', /^\| session · .* \| (\d+) days since last use/m, sessionDays],
];

test('the reference states the periods that the constants give', () => {
  for (const [file, statement, right] of statements) {
    const [words, stated] = statement.exec(read(file)) ?? [];
    assert.ok(words, `${file} does not say ${statement}`);
    assert.equal(Number(stated), right, `${file} says "${words}"`);
  }
});
