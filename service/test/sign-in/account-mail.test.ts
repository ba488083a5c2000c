/** Mails to accounts when a process, the database or the mail server fails. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { addNotices } from '../../src/access/notices.ts';
import { sql } from '../../src/database/database.ts';
import { mailsAtOnce } from '../../src/runtime/mail-retries.ts';
import { startCommand } from '../support/command.ts';
import { toUrl } from '../support/database.ts';
import { password, personOf, postPortal, signInAs, signUp } from '../support/portal.ts';
import { startSmtpServer } from '../support/smtp-server.ts';
import { startTestService, testPublicUrl } from '../support/service.ts';

/** For signing up, without mails. */
const local = await startTestService();
const { database } = local;

test('a notice of a change outlives the process that made it and began to mail it', async () => {
  const held = await startSmtpServer({ refuseMessage: () => new Promise(() => {}) });
  const ada = await signUp(local, 'ada@example.org');
  const process = startCommand(['serve'], {
    env: {
      DATABASE_URL: toUrl(local.connection),
      SECRET_KEY: String(local.secretKeys[0]?.toString('base64')),
      PUBLIC_URL: testPublicUrl,
      ROLES: 'api',
      ...held.env,
    },
  });
  after(() => process.ended);
  const [, url = ''] = await process.waitFor(/^Serving at (\S+)/m);
  const elsewhere = personOf({ url }, ada.email, ada.credentials['cookie'] ?? '');
  const json = { email: 'ada@example.com' };
  const asked = await elsewhere.call('/account/address-changes', { method: 'POST', json });
  assert.equal(asked.status, 202, asked.text);
  // It mails these although it is no worker.
  await held.mailTo(ada.email, /asked to change the address/);
  process.signal('SIGKILL');
  await process.ended;
  await sql`update notices set next_attempt_at = queue_now()`.execute(database);
  const smtp = await startSmtpServer();
  (await startTestService({ beside: local, env: smtp.env })).mailSender?.start();
  await smtp.mailTo(ada.email, /asked to change the address of your account to ada@example\.com/);
  assert.deepEqual(
    smtp.mails.map(({ to }) => to),
    [[ada.email]],
  );
});

test('a change is not made if its notice cannot be stored', async () => {
  const smtp = await startSmtpServer();
  const service = await startTestService({ beside: local, env: smtp.env });
  await signUp(local, 'eve@example.org');
  const eve = await signInAs(service, 'eve@example.org');
  const change = () => {
    const json = { currentPassword: password, newPassword: `${password} 2` };
    return eve.call('/account/password', { method: 'PUT', json });
  };
  await sql`alter table notices add constraint refused check (recipient <> ${sql.lit(eve.email)})`.execute(
    database,
  );
  assert.equal((await change()).status, 500);
  await sql`alter table notices drop constraint refused`.execute(database);
  assert.equal((await change()).status, 200);
  service.mailSender?.start();
  await smtp.mailTo(eve.email, /Your password was changed/);
});

test('a notice about an account waits neither for others nor for the mail server that holds them up', async () => {
  const smtp = await startSmtpServer({ refuseMessage: () => new Promise(() => {}) });
  const service = await startTestService({ beside: local, env: smtp.env });
  await signUp(local, 'kit@example.org');
  const kit = await signInAs(service, 'kit@example.org');
  await addNotices(database, {
    kind: 'message',
    appId: null,
    recipients: sql`select format('r%s@example.org', n) from generate_series(1, 50) n`,
    topic: sql`'many'`,
    details: { subject: 'Many', text: 'Many' },
  });
  service.mailSender?.start();
  await smtp.received(mailsAtOnce);
  const json = { currentPassword: password, newPassword: `${password} 2` };
  assert.equal((await kit.call('/account/password', { method: 'PUT', json })).status, 200);
  await smtp.mailTo(kit.email, /Your password was changed/);
  const before = smtp.mails.findIndex(({ to }) => to[0] === kit.email);
  assert.ok(before <= mailsAtOnce, `${before} came before it`);
});

test('what the mail server leaves waiting replaces no code and no invitation', async () => {
  let isSilent = false;
  const smtp = await startSmtpServer({
    refuseMessage: () => (isSilent ? new Promise(() => {}) : null),
  });
  const service = await startTestService({ beside: local, env: smtp.env });
  await signUp(local, 'kim@example.org');
  const kim = await signInAs(service, 'kim@example.org');
  const post = (path: string, json: unknown) => kim.call(path, { method: 'POST', json });
  const { id: appId } = (await post('/apps', { name: 'Herald' })).body.data;
  const invited = { email: 'lee@example.org', role: 'viewer' };
  const { body } = await post(`/apps/${appId}/invitations`, invited);
  const resend = () => post(`/apps/${appId}/invitations/${body.data.id}/resend`, {});
  assert.equal((await post('/account/proof/mail', {})).status, 202);
  await smtp.received(2);
  const textTo = (email: string) => smtp.mails.find(({ to }) => to[0] === email)?.text ?? '';
  const code = /code is (\d{8})/.exec(textTo(kim.email))?.[1];
  const token = /invitation#([\w-]{43})/.exec(textTo(invited.email))?.[1];

  isSilent = true;
  for (let asked = 0; asked < 100; asked += 1) {
    await service.signIn.accounts.requestLink(`waiting-${asked}@example.org`);
    service.signIn.mail.invitation(`waiting-${asked}@example.org`, {
      appName: 'Herald',
      role: 'viewer',
      invitedBy: kim.email,
      url: 'https://directory.example.org/',
    });
  }
  const refused = [
    await post('/account/proof/mail', {}),
    await resend(),
    await post(`/apps/${appId}/invitations`, { ...invited, email: 'max@example.org' }),
  ];
  assert.deepEqual(
    refused.map(({ status }) => status),
    [503, 503, 503],
  );
  assert.equal((await post('/account/proof/mailed-code', { code })).status, 200);
  assert.equal((await postPortal(service, '/invitations/check', { token })).status, 200);
  const { body: listed } = await kim.call(`/apps/${appId}/invitations`);
  assert.deepEqual(
    listed.data.map(({ email }: { email: string }) => email),
    [invited.email],
  );
});
