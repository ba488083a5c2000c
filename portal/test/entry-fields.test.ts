/** The form of an entry has every field that a write may have, but for those that need more than a field. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AllianceInput, BlueprintInput, OrgInput } from '../../service/src/directory/inputs.ts';
import { fieldsOf } from '../src/operator/entry-fields.ts';

const leftOut = {
  orgs: ['slug'],
  alliances: ['slug'],
  // Written by the sync.
  blueprints: ['slug', 'key', 'output', 'ingredients', 'sources', 'retiredAt'],
};
const inputs = { orgs: OrgInput, alliances: AllianceInput, blueprints: BlueprintInput };

for (const kind of ['orgs', 'alliances', 'blueprints'] as const)
  test(`the form has the fields of ${kind}`, () => {
    const shown = fieldsOf[kind].map(({ name }) => name.split('.')[0]);
    assert.deepEqual(
      new Set([...shown, ...leftOut[kind]]),
      new Set(Object.keys(inputs[kind].properties)),
    );
    assert.ok(leftOut[kind].every((name) => !shown.includes(name)));
  });
