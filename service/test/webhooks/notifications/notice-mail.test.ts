/** Notices: each is mailed once, later if the mail server is away, and one that fails keeps back no other. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { addNotices, claimNotices, dropOldNotices } from '../../../src/access/notices.ts';
import { sql } from '../../../src/database/database.ts';
import { changeSuspension } from '../../../src/http/operator/suspensions.ts';
import { createLogger } from '../../../src/runtime/log.ts';
import { createMailer } from '../../../src/runtime/mail.ts';
import { sendNotices } from '../../../src/webhooks/notifications/mail-sender.ts';
import { testActor } from '../../support/actor.ts';
import { countRows } from '../../support/count-rows.ts';
import { openTestDatabase } from '../../support/database.ts';
import { makeKey } from '../../support/service.ts';
import { mailSettings, startSmtpServer, type SmtpServer } from '../../support/smtp-server.ts';

const { database } = await openTestDatabase();
await sql`create table test_time (ahead interval not null)`.execute(database);
await sql`insert into test_time values ('0')`.execute(database);
await sql`create or replace function queue_now() returns timestamptz language sql volatile as $$
  select clock_timestamp() + ahead from orgdir.test_time $$`.execute(database);

const pass = (time: string) =>
  sql`update test_time set ahead = ahead + ${time}::interval`.execute(database);

let topics = 0;
async function notify(recipients: string[], details: object | null = near): Promise<void> {
  await addNotices(database, {
    recipients: sql`select unnest(${recipients}::text[])`,
    topic: sql`${`topic ${(topics += 1)}`}::text`,
    kind: 'quota.near',
    appId: null,
    details: details as Record<string, unknown>,
  });
  // Their column has whole milliseconds, so they may be due half a millisecond later.
  await setTimeout(1);
}
const near = { quota: 'webhooks', used: 16, limit: 20 };

function senderTo({ port }: Pick<SmtpServer, 'port'>) {
  const mailer = createMailer(mailSettings(port));
  after(() => mailer.close());
  return {
    database,
    mailer,
    log: createLogger('silent'),
    serviceName: 'Service',
    publicUrl: 'https://directory.example',
  };
}

async function sendAll(sender: ReturnType<typeof senderTo>): Promise<void> {
  while (await sendNotices(sender, 'others'));
}

const sentTo = ({ mails }: SmtpServer) => mails.map(({ to }) => to[0]).toSorted();

test('each recipient gets one mail about a topic, whoever sends', async () => {
  const server = await startSmtpServer();
  const recipients = Array.from({ length: 20 }, (_, n) => `r${n}@example.org`);
  await notify(recipients);
  await Promise.all([sendAll(senderTo(server)), sendAll(senderTo(server))]);
  assert.deepEqual(sentTo(server), recipients.toSorted());
  topics -= 1;
  await notify([...recipients, 'late@example.org']);
  await sendAll(senderTo(server));
  assert.equal(server.mails.length, 21);
  assert.equal(server.mails[20]?.to[0], 'late@example.org');
});

test('a mail waits for a server that is away or refuses for now, and a recipient who is refused ends', async () => {
  const away = await startSmtpServer();
  await away.stop();
  await notify(['a@example.org', 'refused@example.org']);
  await sendAll(senderTo(away));
  let code = 451;
  const server = await startSmtpServer({
    refuseRecipient: (address) => (address.startsWith('refused') ? 550 : code || null),
  });
  const sender = senderTo(server);
  await sendAll(sender);
  assert.deepEqual(sentTo(server), []);
  await pass('61 seconds');
  await sendAll(sender);
  code = 0;
  await pass('61 seconds');
  await sendAll(sender);
  assert.deepEqual(sentTo(server), []);
  await pass('4 minutes');
  await sendAll(sender);
  assert.deepEqual(sentTo(server), ['a@example.org']);
  await pass('1 day');
  await sendAll(sender);
  assert.equal(server.mails.length, 1);
});

test('a process that is killed while it sends leaves the mail to another, a minute later', async () => {
  const server = await startSmtpServer();
  await notify(['killed@example.org']);
  const [claimed] = await claimNotices(database, { about: 'others', room: 10 });
  assert.equal(claimed?.attempt, 1);
  await sendAll(senderTo(server));
  assert.deepEqual(sentTo(server), []);
  await pass('61 seconds');
  await sendAll(senderTo(server));
  assert.equal(server.mails[0]?.headers.get('message-id'), `<${claimed.id}@directory.example>`);
});

test('whoever has left, or wants no announcements, gets none that waited', async () => {
  const server = await startSmtpServer();
  const { appId } = await makeKey({ database });
  const people = ['owner', 'left', 'quiet'].map((name) => `${name}@example.org`);
  for (const email of people) {
    await sql`insert into app_members (app_id, email, role) values (${appId}, ${email}, 'owner')`.execute(
      database,
    );
    await sql`insert into users (id, email, name, email_verified) values (uuid_v7(), ${email}, 'Somebody', true)`.execute(
      database,
    );
  }
  const recipients = sql`select unnest(${people}::text[])`;
  for (const [kind, id, details] of [
    ['quota.near', appId, near],
    ['announcement', null, { severity: 'info', text: 'We move.', startsAt: null, endsAt: null }],
  ] as const)
    await addNotices(database, {
      recipients,
      topic: sql`${`waits ${kind}`}::text`,
      kind,
      appId: id,
      details,
    });
  await sql`delete from app_members where email = 'left@example.org'`.execute(database);
  await sql`update users set announcement_mails = false where email = 'quiet@example.org'`.execute(
    database,
  );
  await setTimeout(1);
  await sendAll(senderTo(server));
  assert.deepEqual(sentTo(server), ['owner@example.org', 'owner@example.org', 'quiet@example.org']);
});

test('whoever has left gets no mail that waited about a suspension', async () => {
  const server = await startSmtpServer();
  const { appId, owner } = await makeKey({ database });
  const left = 'left-suspended@example.org';
  await sql`insert into app_members (app_id, email, role) values (${appId}, ${left}, 'owner')`.execute(
    database,
  );
  const request = { kind: 'app', id: appId, reason: 'Spam.' } as const;
  const { mailed } = await database
    .transaction()
    .execute((tx) => changeSuspension(tx, testActor, request, senderTo(server)));
  assert.deepEqual(mailed, [left, owner].toSorted());
  await sql`delete from app_members where app_id = ${appId} and email = ${left}`.execute(database);
  await setTimeout(1);
  await sendAll(senderTo(server));
  assert.deepEqual(sentTo(server), [owner]);
});

test('a notice that cannot be rendered keeps back no other', async () => {
  const server = await startSmtpServer();
  await notify(['bad@example.org'], { quota: 'none' });
  await notify(['good@example.org']);
  await sendAll(senderTo(server));
  assert.deepEqual(sentTo(server), ['good@example.org']);
});

test('mail that nobody sent within a day is not sent, and two days later notices are gone', async () => {
  const server = await startSmtpServer();
  await notify(['old@example.org']);
  await pass('25 hours');
  await sendAll(senderTo(server));
  assert.deepEqual(sentTo(server), []);
  await pass('25 hours');
  await dropOldNotices(database);
  assert.equal(await countRows(database, sql`notices`), 0);
});
