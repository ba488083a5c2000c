/** Names and descriptions that people give: none of them controls, reverses or ends the text around it, or becomes a link. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quoteName } from '../../src/contract/texts.ts';
import { sql } from '../../src/database/database.ts';
import { signUp } from '../support/portal.ts';
import { commandsOn } from '../support/run-here.ts';
import { startTestService } from '../support/service.ts';

const service = await startTestService();
const { database } = service;
const ada = await signUp(service, 'ada@example.org');
const { run } = commandsOn(service);

const unsafe = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u;
const characters = Array.from({ length: 0xffff }, (_, index) => String.fromCharCode(index + 1));
const bad = characters
  .filter((character) => unsafe.test(character))
  .map((character) => `Her${character}ald`);
const good = 'Hérald “1.0” العربية 😀';

async function create(path: string, json: object): Promise<any> {
  const { status, body, text } = await ada.call(path, { method: 'POST', json });
  assert.equal(status, 201, text);
  return body.data;
}

const { id } = await create('/apps', { name: good });
const scopes = ['read:directory'];

test('names of apps, keys and accounts, and descriptions of webhooks, are plain', async () => {
  const key = await create(`/apps/${id}/keys`, { name: good, scopes });
  const url = 'https://example.org/';
  const hook = await create(`/apps/${id}/webhooks`, { url, description: good });
  assert.deepEqual([key.name, hook.description], [good, good]);
  for (const text of bad)
    for (const [method, path, json] of [
      ['POST', '/apps', { name: text }],
      ['PATCH', `/apps/${id}`, { name: text }],
      ['POST', `/apps/${id}/keys`, { name: text, scopes }],
      ['PATCH', '/account', { name: text }],
      ['POST', `/apps/${id}/webhooks`, { url, description: text }],
      ['PATCH', `/apps/${id}/webhooks/${hook.id}`, { description: text }],
    ] as const) {
      const answer = await ada.call(path, { method, json });
      assert.equal(answer.status, 400, `${method} ${path} ${JSON.stringify(text)}`);
    }
  const webhook = { url, description: 'Her\u202eald' };
  assert.equal((await service.call('/webhooks', { method: 'POST', json: webhook })).status, 400);
  for (const words of [
    ['apps', 'create', '--name', 'Her\u202eald', '--owner', 'ada@example.org'],
    ['apps', 'rename', id, 'Her\u2066ald'],
    ['keys', 'create', '--app', id, '--name', 'Her\u0007ald', '--scope', 'read:directory'],
  ]) {
    const { stderr, code } = await run(...words);
    assert.notEqual(code, 0);
    assert.match(stderr, /must not have control characters/);
  }
});

test('names that were stored before stay readable, and can be changed', async () => {
  const old = 'Her\u202eald';
  await sql`update apps set name = ${old} where id = ${id}`.execute(database);
  assert.equal((await ada.call(`/apps/${id}`)).body.data.name, old);
  const renamed = await ada.call(`/apps/${id}`, { method: 'PATCH', json: { name: good } });
  assert.equal(renamed.body.data.name, good);
});

test('a quoted name is one line, and no part of it is an address', () => {
  assert.equal(quoteName('Herald 1'), '"Herald 1"');
  const lure = quoteName(
    'Pay at\r\nhttps://evil.example/x or www。evil．example, \\\\evil\\x "now" a@b.c',
  );
  assert.match(lure, /^"Pay at [^\r\n]*"$/);
  // What mail programs take for an address: a scheme, a host, a mailbox, a share.
  assert.doesNotMatch(lure, /:\/|\S[.@。．｡]\S|\\\\[a-z]/);
});
