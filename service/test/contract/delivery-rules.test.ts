import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { attemptsMax, attemptsMaxInWords } from '../../src/contract/delivery-rules.ts';

const root = join(import.meta.dirname, '../../..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');

test('the database allows as many attempts per cycle as attemptsMax', () => {
  const [, most] = /CHECK \(.*cycle_attempts <= (\d+)/.exec(read('service/schema.sql')) ?? [];
  assert.equal(Number(most), attemptsMax);
});

/** The changelog and the decisions say what was true when they were written. */
const exclude = ['**/{node_modules,dist,data}/**', 'CHANGELOG.md', 'docs/decisions/**'];
const statement =
  /(?:up to|at most) (\d|[a-z]+) (?:new )?(?:attempts|times)\b|attempt (\d) of its cycle|cycle_attempts between 0 and (\d)/g;

test('every document that says how many attempts there are says attemptsMax', async () => {
  const stated: string[] = [];
  for await (const file of glob(['**/*.md', 'client/src/**/*.ts'], { cwd: root, exclude })) {
    const text = read(file).replaceAll(/\s+(\* )?/g, ' ');
    for (const [words, ...numbers] of text.matchAll(statement)) {
      stated.push(file);
      const right = numbers.includes(attemptsMaxInWords) || numbers.includes(`${attemptsMax}`);
      assert.ok(right, `${file} says "${words}"`);
    }
  }
  assert.ok(stated.includes('README.md') && stated.length >= 5, `only ${stated.join(', ')}`);
});
