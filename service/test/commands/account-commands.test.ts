/** `orgdir accounts`: what operators see and do about accounts, and who may sign up. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { sql } from '../../src/database/database.ts';
import {
  postPortal,
  printedToken,
  signInAs,
  signUp,
  tokenOf,
  password,
} from '../support/portal.ts';
import { commandsOn } from '../support/run-here.ts';
import { startTestService } from '../support/service.ts';
import { startSmtpServer } from '../support/smtp-server.ts';

const service = await startTestService();
const mailbox = await startSmtpServer();
const mailing = await startTestService({
  beside: service,
  env: mailbox.env,
});
const folder = await mkdtemp(join(tmpdir(), 'orgdir-accounts-'));
after(() => rm(folder, { recursive: true }));
const commands = commandsOn(service);
const here = (...words: string[]) => commands.run('accounts', ...words);
const run = (...words: string[]) => commands.json('accounts', ...words);

test('accounts are listed, shown and signed out', async () => {
  const ada = await signUp(service, 'ada@example.org');
  await signInAs(service, ada.email);
  await signUp(service, 'bob@example.net');
  const app = await ada.call('/apps', { method: 'POST', json: { name: 'App' } });
  const found = await run('list', '--search', 'EXAMPLE.ORG');
  assert.deepEqual(
    found.map(({ email, sessionCount }: any) => [email, sessionCount]),
    [[ada.email, 2]],
  );
  const shown = await run('show', found[0].id);
  assert.deepEqual(
    [shown.email, shown.methods[0].provider, shown.suspendedAt, shown.apps],
    [ada.email, 'credential', null, [{ id: app.body.data.id, name: 'App', role: 'owner' }]],
  );
  assert.equal((await run('end-sessions', ada.email)).endedSessions, 2);
  assert.equal((await ada.call('/apps')).status, 401);
  const missing = await here('show', 'nobody@example.org');
  assert.match(missing.stderr, /There is no account with the id or address nobody@example.org/);
});

test('an export is what its owner gets, in a file that only the operator can read', async () => {
  const eve = await signUp(service, 'eve@example.org');
  await eve.call('/apps', { method: 'POST', json: { name: 'Of Eve' } });
  const file = join(folder, 'eve.json');
  assert.equal((await here('export', eve.email, '--file', file)).code, 0);
  const exported = JSON.parse(await readFile(file, 'utf8'));
  const own = (await eve.call('/account/export')).body;
  for (const each of [exported, own]) delete each.exportedAt;
  for (const each of own.sessions) each.current = false;
  assert.deepEqual(exported, own);
  assert.equal((await stat(file)).mode & 0o777, 0o600);
});

test('a deletion shows what its owner would see, and deletes only what was named', async () => {
  const dan = await signUp(service, 'dan@example.org');
  const { body } = await dan.call('/apps', { method: 'POST', json: { name: 'Of Dan' } });
  const preview = await run('delete', dan.email);
  const { data } = (await dan.call('/account/deletion')).body;
  const { id: _, email, deleted, ...rest } = preview;
  assert.deepEqual([email, deleted, rest], [dan.email, false, data]);
  const { stdout } = await here('delete', dan.email);
  assert.ok(stdout.includes(`accounts delete ${dan.email} --yes --app ${body.data.id}`), stdout);
  const refused = await here('delete', dan.email, '--yes');
  assert.match(refused.stderr, /apps that would be deleted have changed/);
  assert.equal((await dan.call('/session')).status, 200);
  const done = await run('delete', dan.email, '--yes', '--app', body.data.id);
  assert.equal(done.deleted, true);
  assert.equal((await dan.call('/session')).status, 401);
  const [entry] = await commands.json('audit', 'list', '--action', 'account.deleted');
  assert.equal(entry.actor.kind, 'cli');
});

test('a notice of what an operator did is stored with it, for the service to mail', async () => {
  const fay = await signUp(service, 'fay@example.org');
  const stored = async (words: RegExp) => {
    const { rows } = await sql<{ text: string }>`
      select details ->> 'text' as text from notices where recipient = ${fay.email} order by created_at
    `.execute(service.database);
    assert.match(rows.at(-1)?.text ?? 'none', words);
  };
  const quiet = await here('remove-second-factor', fay.email);
  assert.match(quiet.stdout, /No mail is sent: notify the user/);
  const withMail = commandsOn(service, mailbox.env);
  const removed = await withMail.run('accounts', 'remove-second-factor', fay.email);
  assert.match(removed.stdout, /The service mails fay@example.org/);
  await stored(/The operator removed the second factor/);
  await withMail.run('accounts', 'delete', fay.email, '--yes');
  await stored(/Your account and its sessions were deleted/);
});

/** Requests a link, and says whether it came. */
async function getsLink(email: string): Promise<boolean> {
  const { status } = await postPortal(service, '/password-links', { email });
  assert.equal(status, 202);
  return printedToken(service, email) !== null;
}

test('nobody signs up with a blocked address, or with one of a blocked domain', async () => {
  await signUp(service, 'member@blocked.test');
  assert.equal(await getsLink('early@blocked.test'), true);
  const early = printedToken(service, 'early@blocked.test');
  assert.deepEqual(await run('block', 'Blocked.test'), { pattern: 'blocked.test', changed: true });
  assert.deepEqual(await run('block', 'mallory@example.org'), {
    pattern: 'mallory@example.org',
    changed: true,
  });
  assert.equal((await run('block', 'blocked.test')).changed, false);
  for (const [email, gets] of [
    ['new@blocked.test', false],
    ['new@mail.blocked.test', false],
    ['new@unblocked.test', true],
    ['mallory@example.org', false],
    ['mallory+1@example.org', false],
    ['mallory2@example.org', true],
    // Has an account.
    ['member@blocked.test', true],
  ] as const)
    assert.equal(await getsLink(email), gets, email);
  const late = await postPortal(service, '/password', { token: early, password, name: 'E' });
  assert.equal(late.status, 403);
  const listed = await run('blocks');
  assert.deepEqual(
    listed.map(({ pattern }: { pattern: string }) => pattern),
    ['blocked.test', 'mallory@example.org'],
  );
  assert.equal((await run('unblock', 'blocked.test')).changed, true);
  assert.equal(await getsLink('new@blocked.test'), true);
  for (const given of ['', 'no domain', 'localhost', '@example.org', '-'])
    assert.equal((await here('block', given)).code, 2, given);
});

test('whoever may not sign up is told by mail, and gets the same response', async () => {
  await run('block', 'told@example.org');
  const before = mailbox.mails.length;
  const asked = await postPortal(mailing, '/password-links', { email: 'told@example.org' });
  assert.equal(asked.status, 202);
  const mail = (await mailbox.received(before + 1)).at(-1);
  assert.match(mail?.text ?? '', /No account can be created for this address/);
  assert.equal(tokenOf(mail?.text ?? ''), null);
});

test('while sign-up is closed, only an operator’s link creates an account', async () => {
  assert.equal((await run('close-sign-up')).changed, true);
  assert.equal(await getsLink('closed@example.org'), false);
  const { url } = await run('link', 'invited@example.org');
  const set = { token: tokenOf(url), password, name: 'Invited' };
  assert.equal((await postPortal(service, '/password', set)).status, 200);
  assert.equal((await run('open-sign-up')).changed, true);
  assert.equal(await getsLink('closed@example.org'), true);
});
