/** What an error says about a text that does not match a pattern. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Type } from 'typebox';
import { createValidator } from '../../src/contract/validate.ts';
import { internalOpenApiFile, openApiFile } from '../support/openapi-file.ts';

/** Of a NUL, the validator says so itself. */
const noNul = '^[^\\u0000]*$';
const unfit = [' ', '', '\u0007', 'é é', '-'];

function* patternsIn(value: unknown): Generator<string> {
  if (typeof value !== 'object' || value === null) return;
  const { pattern } = value as { pattern?: unknown };
  if (typeof pattern === 'string' && pattern !== noNul) yield pattern;
  for (const each of Object.values(value)) yield* patternsIn(each);
}

test('an error says in words what a pattern of the public or the internal API allows', () => {
  const patterns = new Set(
    patternsIn(
      [openApiFile, internalOpenApiFile].map((file) => JSON.parse(readFileSync(file, 'utf8'))),
    ),
  );
  assert.ok(patterns.size > 5);
  for (const pattern of patterns) {
    const validate = createValidator(Type.String({ pattern }));
    const text = unfit.find((each) => !new RegExp(pattern, 'u').test(each));
    const result = validate(text, 'field');
    assert.ok(!result.ok, pattern);
    const [issue] = result.issues;
    assert.match(issue?.message ?? '', /^must /, pattern);
    assert.ok(!issue?.message.includes('^'), issue?.message);
  }
});
