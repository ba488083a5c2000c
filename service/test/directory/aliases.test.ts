/** The other names of organisations and alliances: found like the name, kept by writes that omit them, added by a change of name. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { put } from '../support/directory.ts';
import { startInternalApi } from '../support/internal-api.ts';
import { startTestService } from '../support/service.ts';

const service = await startTestService();
const { database } = service;
const { call } = await startInternalApi(service);

type Kind = 'orgs' | 'alliances';
const kinds: Kind[] = ['orgs', 'alliances'];

const found = async (kind: Kind, search: string): Promise<string[]> => {
  await service.settled();
  const { body } = await service.call(`/${kind}?search=${encodeURIComponent(search)}`);
  return body.data.map(({ slug }: { slug: string }) => slug);
};
const write = (method: 'PUT' | 'PATCH', path: string, json: object) => call(path, { method, json });
const aliasesOf = async (kind: Kind, slug: string): Promise<string[]> =>
  (await call(`/${kind}/${slug}`)).body.data.aliases;

for (const kind of kinds) {
  test(`${kind} are found by an alias as by the name, in any script and with a typo, after those with that name`, async () => {
    await put(database, kind, [
      { slug: 'ibm', name: 'International Machines', aliases: ['Big Blue', 'Ростелеком'] },
      { slug: 'blue', name: 'Big Blue' },
      { slug: 'told', name: 'Storyteller', description: 'They wrote of Big Blue.' },
    ]);
    assert.deepEqual(await found(kind, 'big blue'), ['blue', 'ibm', 'told']);
    assert.deepEqual(await found(kind, 'rostelekom'), ['ibm']);
    assert.deepEqual(await found(kind, 'rostelekon'), ['ibm']);
    const { body } = await service.call('/suggest?q=rostele');
    assert.ok(body.data.some(({ slug }: { slug: string }) => slug === 'ibm'));
    assert.deepEqual((await service.call(`/${kind}/ibm`)).body.data.aliases, [
      'Big Blue',
      'Ростелеком',
    ]);
  });

  test(`${kind} keep their aliases, and are found by them, when a write omits them`, async () => {
    const aliases = ['Former Keeper', 'KPR'];
    await put(database, kind, [
      { slug: 'keeper', name: 'Keeper', aliases },
      { slug: 'other', name: 'Other' },
    ]);
    await put(database, kind, [
      { slug: 'keeper', name: 'Keeper Two' },
      { slug: 'other', name: 'Other', aliases: ['Second'] },
    ]);
    await write('PUT', `/${kind}/keeper`, { name: 'Keeper Three' });
    await write('PATCH', `/${kind}/keeper`, { description: 'Changed.' });
    assert.deepEqual(await aliasesOf(kind, 'keeper'), aliases);
    assert.deepEqual(await found(kind, 'kpr'), ['keeper']);
    await write('PATCH', `/${kind}/keeper`, { aliases: [] });
    assert.deepEqual(await aliasesOf(kind, 'keeper'), []);
    assert.deepEqual(await found(kind, 'kpr'), []);
  });

  test(`a new name of ${kind} keeps the former one only if the write asks for it`, async () => {
    await put(database, kind, [{ slug: 'mover', name: 'First Name' }]);
    await write('PATCH', `/${kind}/mover`, { name: 'Second Name' });
    assert.deepEqual(await aliasesOf(kind, 'mover'), []);
    await write('PATCH', `/${kind}/mover?keepName=true`, { name: 'Third Name' });
    await write('PUT', `/${kind}/mover?keepName=true`, { name: 'Fourth Name' });
    await write('PATCH', `/${kind}/mover?keepName=true`, { description: 'The same name.' });
    assert.deepEqual(await aliasesOf(kind, 'mover'), ['Second Name', 'Third Name']);
    await write('PUT', `/${kind}/mover?keepName=true`, { name: 'Third Name', aliases: ['Extra'] });
    assert.deepEqual(await aliasesOf(kind, 'mover'), ['Extra', 'Fourth Name']);
    await write('PATCH', `/${kind}/mover?keepName=true`, { name: 'Extra' });
    assert.deepEqual(await aliasesOf(kind, 'mover'), ['Fourth Name', 'Third Name']);
  });

  test(`the spaces around a former name of ${kind} are not part of its alias`, async () => {
    await put(database, kind, [{ slug: 'spaced', name: ' Spaced ' }]);
    await write('PATCH', `/${kind}/spaced?keepName=true`, { name: 'New' });
    assert.deepEqual(await aliasesOf(kind, 'spaced'), ['Spaced']);
  });

  test(`a name of ${kind} that cannot be an alias is refused, and nothing changes`, async () => {
    const aliases = Array.from({ length: 10 }, (_, number) => `Alias ${number}`);
    await put(database, kind, [
      { slug: 'full', name: 'Full', aliases },
      { slug: 'long', name: 'x'.repeat(101) },
      { slug: 'bar', name: 'A | B' },
    ]);
    for (const [slug, message] of [
      ['full', 'there are 10 aliases already; remove one'],
      ['long', 'the former name has more than the 100 characters of an alias'],
      ['bar', 'the former name has a bar (|), which no alias may have'],
    ] as const) {
      const { status, body } = await write('PATCH', `/${kind}/${slug}?keepName=true`, {
        name: 'New',
      });
      assert.equal(status, 400);
      assert.deepEqual(body.error.details.issues, [{ path: 'query.keepName', message }]);
      assert.notEqual((await call(`/${kind}/${slug}`)).body.data.name, 'New');
    }
  });

  test(`aliases of ${kind} that are too many, too long, blank, repeated or have a bar are refused`, async () => {
    const faults: [unknown, string][] = [
      [Array.from({ length: 11 }, (_, number) => `${number}`), 'body.aliases'],
      [['x'.repeat(101)], 'body.aliases.0'],
      [['Fine', ' '], 'body.aliases.1'],
      [['Twice', 'Twice'], 'body.aliases'],
      [['A | B'], 'body.aliases.0'],
      [['A '], 'body.aliases.0'],
      [['A\u0000B'], 'body.aliases.0'],
      ['A', 'body.aliases'],
    ];
    for (const [aliases, path] of faults) {
      const { status, body } = await write('PUT', `/${kind}/faulty`, { name: 'Faulty', aliases });
      assert.equal(status, 400, JSON.stringify(aliases));
      assert.equal(body.error.details.issues[0].path, path);
    }
  });
}

test('blueprints have no names to keep', async () => {
  const { status, body } = await call('/blueprints/some?keepName=true', {
    method: 'PATCH',
    json: { name: 'New' },
  });
  assert.equal(status, 400);
  assert.equal(body.error.details.issues[0].path, 'query.keepName');
});
