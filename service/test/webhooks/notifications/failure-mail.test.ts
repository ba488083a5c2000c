/** Mail about failing webhooks: what it says, to whom it goes, that it arrives once, and what becomes of it when the server or the worker fails. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, afterEach, beforeEach, test } from 'node:test';
import { createApp } from '../../../src/access/apps.ts';
import { setFailureMails, setMember } from '../../../src/access/members.ts';
import { mailChannel } from '../../../src/access/notices.ts';
import { sql } from '../../../src/database/database.ts';
import { storePublicUrl } from '../../../src/database/public-url.ts';
import { Session } from '../../../src/database/session.ts';
import { retrySetAside } from '../../../src/events/set-aside.ts';
import { createLogger } from '../../../src/runtime/log.ts';
import { createMailer, type MailerOptions } from '../../../src/runtime/mail.ts';
import {
  createMailSender,
  type MailSender,
} from '../../../src/webhooks/notifications/mail-sender.ts';
import { claimMails, recordRecipient } from '../../../src/webhooks/notifications/mail-queue.ts';
import {
  recordOperationalEvents,
  type OperationalEvent,
} from '../../../src/webhooks/notifications/operational-events.ts';
import { suspendWebhooks } from '../../../src/webhooks/management/suspend-webhooks.ts';
import { renderMail } from '../../../src/webhooks/notifications/render-mail.ts';
import { testActor } from '../../support/actor.ts';
import { startCommand } from '../../support/command.ts';
import { openTestDatabase, toUrl } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import {
  mailSettings,
  smtpUser,
  startSmtpServer,
  type SmtpServer,
} from '../../support/smtp-server.ts';

const { database, connection } = await openTestDatabase();
const context = {
  serviceName: 'Service',
  publicUrl: 'https://directory.example',
  deactivateAfter: 5,
};

await sql`create table test_time (ahead interval not null)`.execute(database);
await sql`insert into test_time values ('0')`.execute(database);
await sql`create or replace function queue_now() returns timestamptz language sql volatile as $$
  select clock_timestamp() + ahead from orgdir.test_time $$`.execute(database);

beforeEach(async () => {
  await sql`delete from operational_events`.execute(database);
});

const log = createLogger('silent');
/** Of the test that runs: the next must not find them at work on its own. */
const running: MailSender[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((mailSender) => mailSender.stop()));
});

/** Moves the queue's clock, and wakes the tasks. */
async function pass(time: string): Promise<void> {
  await sql`update test_time set ahead = ahead + ${time}::interval`.execute(database);
  await sql`select pg_notify(${mailChannel}, '')`.execute(database);
}

let owners = 0;
async function makeWebhook(
  appName = 'Herald',
): Promise<{ webhookId: string; appId: string; owner: string }> {
  const owner = `owner-${(owners += 1)}@example.org`;
  return database.transaction().execute(async (tx) => {
    const appId = await createApp(tx, testActor, { name: appName, owner });
    const { rows } = await sql<{ id: string }>`
      insert into webhooks (id, app_id, url, secret)
      values (uuid_v7(), ${appId}, 'https://hooks.example/in?token=hunter2', 'x') returning id
    `.execute(tx);
    return { webhookId: rows[0]?.id ?? '', appId, owner };
  });
}

async function happen(
  { webhookId, appId }: { webhookId: string; appId: string },
  more: Partial<OperationalEvent> = {},
): Promise<void> {
  await database.transaction().execute(async (tx) => {
    // Like a worker that records attempts.
    await sql`select from webhooks where id = ${webhookId} for update`.execute(tx);
    await recordOperationalEvents(tx, [
      {
        appId,
        webhookId,
        kind: 'webhook.failing',
        reason: null,
        statusCode: 500,
        error: null,
        exhaustedInARow: 1,
        cancelled: 0,
        host: 'hooks.example',
        lastSuccessAt: null,
        ...more,
      },
    ]);
  });
}

type Row = {
  id: string;
  mail_attempts: number;
  mailed_at: Date | null;
  given_up_at: Date | null;
  next_mail_at: Date | null;
  /** A mail is in flight. */
  leased: boolean;
  mail_error: string | null;
  repeats: number;
  waits_seconds: number | null;
};

async function rowsOf({ webhookId }: { webhookId: string }): Promise<Row[]> {
  const { rows } = await sql<Row>`
    select id, mail_attempts, mailed_at, given_up_at, next_mail_at, mail_error, repeats,
      mail_leased_until is not null as leased,
      round(extract(epoch from next_mail_at - queue_now()))::int as waits_seconds
    from operational_events where webhook_id = ${webhookId} order by created_at, id
  `.execute(database);
  return rows;
}

function settledRow(webhook: { webhookId: string }): Promise<Row> {
  return eventually(async () => {
    const [row] = await rowsOf(webhook);
    return row && (row.mailed_at ?? row.given_up_at) && row;
  });
}

function startMailSender({ port }: Pick<SmtpServer, 'port'>, options: MailerOptions = {}) {
  const mailer = createMailer(mailSettings(port), options);
  const mailSender = createMailSender({
    ...context,
    database,
    session: new Session(connection),
    mailer,
    log,
  });
  running.push(mailSender);
  mailSender.start();
  return mailSender;
}

test('a mail has the cause, the last response and the way to recover', async () => {
  const server = await startSmtpServer();
  startMailSender(server);
  const webhook = await makeWebhook();
  await sql`
    update webhooks set active = false, deactivated_at = now(), deactivated_reason = 'failing' where id = ${webhook.webhookId}
  `.execute(database);
  const lastSuccessAt = new Date();
  await happen(webhook, {
    kind: 'webhook.deactivated',
    reason: 'failing',
    statusCode: 503,
    exhaustedInARow: 5,
    cancelled: 12,
    lastSuccessAt,
  });
  const [mail] = await server.received(1);
  const row = await settledRow(webhook);
  assert.ok(mail && row.mailed_at);
  assert.deepEqual(mail.to, [webhook.owner]);
  assert.equal(mail.headers.get('subject'), 'Service: webhook to hooks.example was deactivated');
  assert.equal(mail.headers.get('message-id'), `<${row.id}@directory.example>`);
  const base = `https://directory.example/api/v1/webhooks/${webhook.webhookId}`;
  for (const part of [
    'app "Herald" at hooks.example',
    '5 deliveries in a row failed after all attempts',
    '12 pending deliveries were cancelled',
    'Last response: HTTP status 503',
    `Last success:  ${lastSuccessAt.toISOString()}`,
    'Health now:    Deactivated: too many deliveries failed',
    `https://directory.example/profile/developer/apps/${webhook.appId}/webhooks/${webhook.webhookId}/deliveries?status=undelivered`,
    `curl -X PATCH "${base}" -H "Authorization: Bearer $KEY"`,
    `-d '{"active":true}'`,
    `curl -X POST "${base}/replay"`,
    // What failed just before the success was recorded may have been recorded with it.
    `-d '{"since":"${new Date(lastSuccessAt.getTime() - 60_000).toISOString()}"}'`,
  ])
    assert.ok(mail.text.includes(part), `${part} is not in:\n${mail.text}`);
  assert.doesNotMatch(mail.text, /hunter2|token|\/in\b/);
});

test('a mail has the health when it is sent, in the words of the portal', async () => {
  const server = await startSmtpServer();
  const [active, suspended] = [await makeWebhook(), await makeWebhook()];
  for (const each of [active, suspended]) await happen(each, { statusCode: null, error: 'tls' });
  const target = { kind: 'webhook', id: suspended.webhookId } as const;
  await database
    .transaction()
    .execute((tx) => suspendWebhooks(tx, testActor, target, 'Sends spam.'));
  startMailSender(server);
  const mails = await server.received(2);
  for (const [{ owner }, health] of [
    [active, 'New'],
    [suspended, 'Suspended: Sends spam.'],
  ] as const) {
    const text = mails.find(({ to }) => to.includes(owner))?.text ?? '';
    assert.ok(text.includes(`Last response: none (TLS failed)\nHealth now:    ${health}\n`), text);
  }
});

test('a mail says what is known of a failed connection', async () => {
  const server = await startSmtpServer();
  const known = await makeWebhook();
  const { webhookId } = known;
  await sql`
    with delivery as (
      insert into deliveries (id, event_id, event, webhook_id, status, attempt_count, created_at, completed_at)
      values (uuid_v7(), uuid_v7(), 'org.created', ${webhookId}, 'failed', 2, now(), now()) returning id
    )
    insert into attempts (delivery_id, number, trigger, started_at, duration_ms, error, error_cause)
    select id, number, 'event', now(), 5, 'tls', cause
    from delivery, (values (1, 'not_tls'), (2, 'certificate_expired')) as a(number, cause)
  `.execute(database);
  // A later test says nothing about it.
  await sql`
    insert into deliveries (id, event_id, event, webhook_id, status, attempt_count, created_at, completed_at)
    values (uuid_v7(), uuid_v7(), 'webhook.test', ${webhookId}, 'failed', 0, now(), now())
  `.execute(database);
  await happen(known, { statusCode: null, error: 'tls' });
  startMailSender(server);
  const [mail] = await server.received(1);
  assert.match(mail?.text ?? '', /Last response: none \(The certificate has expired\)\n/);
});

test('a mail about an activation by probes says whether the service replays what was missed', async () => {
  const server = await startSmtpServer();
  startMailSender(server);
  const [webhook, replayed] = [await makeWebhook(), await makeWebhook()];
  await sql`update webhooks set replay_after_healing = true where id = ${replayed.webhookId}`.execute(
    database,
  );
  for (const each of [webhook, replayed])
    await happen(each, { kind: 'webhook.healed', statusCode: 204 });
  const mails = await server.received(2);
  const textTo = ({ owner }: { owner: string }) =>
    mails.find(({ to }) => to.includes(owner))?.text ?? '';
  for (const each of [webhook, replayed]) {
    assert.match(textTo(each), /Last response: HTTP status 204/);
    assert.doesNotMatch(textTo(each), /Once the receiver works/);
  }
  assert.match(textTo(webhook), /To replay what it missed:\n\n {2}curl -X POST .*\/replay"/);
  assert.match(textTo(replayed), /The service replays what it missed\./);
  assert.doesNotMatch(textTo(replayed), /\/replay"/);
});

test('addresses in a mail are those of the api process, not those of the worker', async () => {
  await storePublicUrl(database, 'https://public.example');
  const server = await startSmtpServer();
  startMailSender(server);
  const webhook = await makeWebhook();
  await happen(webhook);
  const [mail] = await server.received(1);
  assert.match(mail?.text ?? '', /"https:\/\/public\.example\/api\/v1\/webhooks\//);
  assert.doesNotMatch(mail?.text ?? '', /directory\.example/);
  await settledRow(webhook);
  await storePublicUrl(database, context.publicUrl);
});

test('a mail names no count when more deliveries are pending than are cancelled at once', async () => {
  const server = await startSmtpServer();
  startMailSender(server);
  const told = { kind: 'webhook.deactivated', reason: 'gone', statusCode: 410 } as const;
  await happen(await makeWebhook(), { ...told, cancelled: null });
  const [mail] = await server.received(1);
  assert.match(mail?.text ?? '', /Its pending deliveries are cancelled\. It receives no events/);
  assert.match(mail?.text ?? '', /its receiver responded to a delivery with 410 Gone/);
});

test('recording wakes the mail task, and waiting mails are sent at a start', async () => {
  const server = await startSmtpServer();
  const before = await makeWebhook();
  await happen(before);
  startMailSender(server);
  await server.received(1);
  // By now it waits for a notification or half a minute.
  await settledRow(before);
  await happen(await makeWebhook());
  await server.received(2);
});

test('mails about webhooks do not wait for notices that somebody has locked', async () => {
  const server = await startSmtpServer();
  startMailSender(server);
  await database.transaction().execute(async (tx) => {
    await sql`lock table notices in access exclusive mode`.execute(tx);
    for (let mails = 1; mails <= 2; mails += 1) {
      const webhook = await makeWebhook();
      await happen(webhook);
      assert.ok((await settledRow(webhook)).mailed_at);
    }
  });
});

test('a rejected recipient is given up at once', async () => {
  const server = await startSmtpServer({ refuseRecipient: () => 550 });
  startMailSender(server);
  const webhook = await makeWebhook();
  await happen(webhook);
  const row = await settledRow(webhook);
  assert.equal(row.mail_error, 'recipient');
  assert.equal(row.mail_attempts, 1);
  assert.equal(row.mailed_at, null);
  await pass('2 hours');
  assert.deepEqual(await claimMails(database, 10), []);
});

test('a temporary failure is retried with backoff', async () => {
  let code: number | null = 451;
  const server = await startSmtpServer({ refuseRecipient: () => code });
  startMailSender(server);
  const webhook = await makeWebhook();
  await happen(webhook);
  const failed = (attempts: number) =>
    eventually(async () => {
      const [row] = await rowsOf(webhook);
      return row?.mail_attempts === attempts && !row.leased;
    });
  await failed(1);
  await pass('61 seconds');
  await failed(2);
  code = null;
  await pass('61 seconds');
  assert.deepEqual(await claimMails(database, 10), []);
  await pass('4 minutes');
  const row = await settledRow(webhook);
  assert.ok(row.mailed_at);
  assert.equal(row.mail_attempts, 3);
  assert.equal(row.mail_error, null);
  assert.equal(server.mails.length, 1);
});

test('a mail to an unavailable server is given up after eight attempts within a day', async () => {
  // Nobody listens there, and no test of another process begins to.
  startMailSender({ port: 1 });
  const webhook = await makeWebhook();
  await happen(webhook);
  for (let tries = 1; tries < 8; tries += 1) {
    await eventually(async () => {
      const [row] = await rowsOf(webhook);
      return row?.mail_attempts === tries && !row.leased;
    });
    const [row] = await rowsOf(webhook);
    await pass(`${(row?.waits_seconds ?? 0) + 1} seconds`);
  }
  const row = await settledRow(webhook);
  assert.equal(row.mail_attempts, 8);
  assert.equal(row.mail_error, 'connect');
});

test('a hanging server does not block other mails for ever', async () => {
  const held = await startSmtpServer({ refuseMessage: () => new Promise(() => {}) });
  startMailSender(held, { timeoutMs: 200 });
  const webhook = await makeWebhook();
  await happen(webhook);
  await eventually(async () => (await rowsOf(webhook))[0]?.mail_error === 'timeout');
});

test('a stop ends the running mail, and the next process sends it', async () => {
  const held = await startSmtpServer({ refuseMessage: () => new Promise(() => {}) });
  const first = startMailSender(held, { timeoutMs: 60_000 });
  const webhook = await makeWebhook();
  await happen(webhook);
  await held.received(1);
  await Promise.all([first.stop(), first.stop()]);
  const [row] = await rowsOf(webhook);
  assert.equal(row?.mail_attempts, 0);
  assert.equal(row.mailed_at, null);
  const server = await startSmtpServer();
  startMailSender(server);
  const [mail] = await server.received(1);
  assert.ok((await settledRow(webhook)).mailed_at);
  assert.equal(mail?.headers.get('message-id'), held.mails[0]?.headers.get('message-id'));
});

test('a crash between sending and recording sends a duplicate with the same id', async () => {
  const server = await startSmtpServer();
  const webhook = await makeWebhook();
  await happen(webhook);
  // As far as a process comes that is killed there.
  const [claimed] = await claimMails(database, 1);
  assert.ok(claimed);
  const mailer = createMailer(mailSettings(server.port));
  after(() => mailer.close());
  const text = renderMail({ ...claimed, errorCause: null }, context);
  await mailer.send({ id: claimed.id, to: webhook.owner, ...text });
  startMailSender(server);
  await happen(await makeWebhook());
  await server.received(2);
  assert.equal((await rowsOf(webhook))[0]?.mailed_at, null, 'its lease still runs');
  await pass('61 seconds');
  assert.ok((await settledRow(webhook)).mailed_at);
  await pass('2 hours');
  await happen(await makeWebhook());
  await server.received(4);
  const doubled = server.mails.filter(({ to }) => to[0] === webhook.owner);
  assert.equal(doubled.length, 2);
  assert.equal(doubled[0]?.headers.get('message-id'), doubled[1]?.headers.get('message-id'));
  assert.equal(doubled[0]?.text, doubled[1]?.text);
});

test('a mail whose process died after the last recipient counts as mailed', async () => {
  const server = await startSmtpServer();
  const webhook = await makeWebhook();
  await happen(webhook);
  const [claimed] = await claimMails(database, 1);
  assert.ok(claimed);
  await recordRecipient(database, claimed, { recipient: webhook.owner, ended: true });
  await pass('61 seconds');
  startMailSender(server);
  const row = await settledRow(webhook);
  assert.ok(row.mailed_at);
  assert.equal(row.given_up_at, null);
  assert.deepEqual(server.mails, []);
});

test('whoever got the mail gets no other within the hour while it is tried for somebody else', async () => {
  const deferred = 'greylisted@example.org';
  const server = await startSmtpServer({
    refuseRecipient: (address) => (address === deferred ? 451 : null),
  });
  const webhook = await makeWebhook();
  await database
    .transaction()
    .execute((tx) =>
      setMember(tx, testActor, { appId: webhook.appId, email: deferred, role: 'owner' }),
    );
  startMailSender(server);
  await happen(webhook);
  await server.received(1);
  await eventually(async () => (await rowsOf(webhook))[0]?.mail_error === 'deferred');
  await happen(webhook);
  const [, next] = await rowsOf(webhook);
  assert.deepEqual([next?.waits_seconds, next?.repeats], [3_600, 0]);
});

test('a storm of failures is one mail per webhook and hour, whatever number of workers sends them', async () => {
  const server = await startSmtpServer();
  const { appId, owner, webhookId } = await makeWebhook();
  const { rows: others } = await sql<{ webhookId: string }>`
    insert into webhooks (id, app_id, url, secret)
    select uuid_v7(), ${appId}, 'https://hooks.example/in', 'x' from generate_series(2, 20)
    returning id as "webhookId"
  `.execute(database);
  const webhooks = [webhookId, ...others.map((other) => other.webhookId)];
  const failAll = () => Promise.all(webhooks.map((each) => happen({ webhookId: each, appId })));
  startMailSender(server);
  startMailSender(server);
  const waiting = async () => {
    const { rows } = await sql<{ mailed: number; waiting: number }>`
      select count(*) filter (where mailed_at is not null) as mailed,
        count(*) filter (where next_mail_at is not null) as waiting
      from operational_events where app_id = ${appId}
    `.execute(database);
    return rows[0];
  };
  const reach = async (mailed: number) =>
    eventually(async () => (await waiting())?.mailed === mailed || undefined);
  await failAll();
  await reach(20);
  for (let times = 0; times < 4; times += 1) await failAll();
  assert.deepEqual(await waiting(), { mailed: 20, waiting: 20 });
  // Of another kind, and of another webhook: at once.
  const gone = { kind: 'webhook.deactivated', reason: 'gone', statusCode: 410 } as const;
  await happen({ webhookId, appId }, gone);
  await reach(21);
  const other = await makeWebhook();
  await happen(other);
  assert.ok((await settledRow(other)).mailed_at);
  await pass('61 minutes');
  await reach(41);
  // Nothing is left to send, however long one waits.
  assert.deepEqual(await waiting(), { mailed: 41, waiting: 0 });
  const mails = await server.received(42);
  const ownersTold = new Set(mails.map(({ to }) => to[0]));
  assert.deepEqual([mails.length, ownersTold], [42, new Set([owner, other.owner])]);
  const counted = mails.filter(({ text }) => text.includes('started to fail 3 more times before'));
  assert.equal(counted.length, 20);
});

test('a mail older than a day is not sent, nor are old events when mail is set up', async () => {
  const old = await makeWebhook();
  await happen(old);
  await pass('25 hours');
  const fresh = await makeWebhook();
  await happen(fresh);
  const server = await startSmtpServer();
  startMailSender(server);
  assert.ok((await settledRow(fresh)).mailed_at);
  assert.ok((await settledRow(old)).given_up_at);
  assert.deepEqual(
    server.mails.map(({ to }) => to[0]),
    [fresh.owner],
  );
});

test("an app's name cannot inject headers or lines, and an invalid address is given up", async () => {
  const server = await startSmtpServer();
  startMailSender(server);
  const odd = await makeWebhook();
  // From before such names were refused.
  const name = 'Her"ald\r\n\r\nBcc: eve@example.net\u2028.';
  await sql`update apps set name = ${name} where id = ${odd.appId}`.execute(database);
  await happen(odd);
  const [mail] = await server.received(1);
  assert.match(mail?.text ?? '', /app "Her\\"ald Bcc: eve@ example\. net \." at hooks\.example/);
  assert.equal(mail?.headers.get('bcc'), undefined);
  const unmailable = await makeWebhook();
  await sql`
    update app_members set email = 'a,b@example.org' where app_id = ${unmailable.appId}
  `.execute(database);
  await happen(unmailable);
  assert.equal((await settledRow(unmailable)).mail_error, 'recipient');
  assert.equal(server.mails.length, 1);
});

test('a mail goes once to each owner and developer who wants it and whose address is verified', async () => {
  let deferred: string | null = 'deferred@example.org';
  const server = await startSmtpServer({
    refuseRecipient: (address) =>
      address === deferred ? 451 : address === 'refused@example.org' ? 550 : null,
  });
  const webhook = await makeWebhook();
  const { appId } = webhook;
  const developers = Array.from({ length: 9 }, (_, index) => `developer-${index}@example.org`);
  const unwanted = 'unwanted@example.org';
  await database.transaction().execute(async (tx) => {
    const others = [deferred ?? '', 'refused@example.org', '1@oidc.invalid', unwanted];
    for (const email of [...developers, ...others])
      await setMember(tx, testActor, { appId, email, role: 'developer' });
    await setMember(tx, testActor, { appId, email: 'viewer@example.org', role: 'viewer' });
    await setFailureMails(tx, { appId, email: unwanted, wanted: false });
  });
  startMailSender(server);
  await happen(webhook);
  await server.received(9);
  await eventually(async () => (await rowsOf(webhook))[0]?.mail_error === 'deferred');
  deferred = null;
  await pass('61 seconds');
  assert.ok((await settledRow(webhook)).mailed_at);
  assert.deepEqual(
    server.mails.flatMap(({ to }) => to).toSorted(),
    [...developers, 'deferred@example.org', webhook.owner].toSorted(),
  );
});

test('a mail that nobody wants is not sent', async () => {
  const server = await startSmtpServer();
  startMailSender(server);
  const webhook = await makeWebhook();
  await setFailureMails(database, { appId: webhook.appId, email: webhook.owner, wanted: false });
  await happen(webhook);
  const row = await settledRow(webhook);
  assert.deepEqual([row.mailed_at, row.mail_error], [null, null]);
  assert.deepEqual(server.mails, []);
});

test('a worker process sends mail with its settings, and its password appears nowhere', async () => {
  const server = await startSmtpServer({ options: { authOptional: false } });
  const password = encodeURIComponent(smtpUser.password);
  const service = startCommand(['serve'], {
    env: {
      DATABASE_URL: toUrl(connection),
      SECRET_KEY: randomBytes(32).toString('base64'),
      ROLES: 'worker',
      SMTP_URL: `smtp://${smtpUser.user}:${password}@127.0.0.1:${server.port}`,
      MAIL_FROM: 'Directory <no-reply@directory.example>',
      SERVICE_NAME: 'Herald',
      LOG_LEVEL: 'trace',
    },
  });
  const webhook = await makeWebhook();
  await happen(webhook);
  const [mail] = await server.received(1);
  assert.equal(mail?.headers.get('subject'), 'Herald: webhook to hooks.example is failing');
  assert.equal(mail.user, smtpUser.user);
  await service.waitFor(/mail\.sent/);
  service.signal('SIGTERM');
  assert.deepEqual(await service.ended, { code: 0, signal: null });
  const output = service.stdout + service.stderr;
  for (const secret of [password, smtpUser.password, webhook.owner, 'hunter2'])
    assert.ok(!output.includes(secret), secret);
});

test('a mail that PostgreSQL refuses is set aside, the others are sent, and it is sent when it is retried', async () => {
  await sql`
    create function refuse_mail() returns trigger language plpgsql as $$
    begin
      if new.host = 'bad.example' then raise exception 'out of range' using errcode = '22003'; end if;
      return new;
    end $$
  `.execute(database);
  await sql`
    create trigger refuse before update on operational_events for each row execute function refuse_mail()
  `.execute(database);
  const late = await makeWebhook();
  await happen(late, { host: 'bad.example' });
  await sql`update test_time set ahead = ahead + interval '2 days'`.execute(database);
  const [bad, good] = [await makeWebhook(), await makeWebhook()];
  await happen(bad, { host: 'bad.example' });
  await happen(good);
  const server = await startSmtpServer();
  startMailSender(server);
  const [mail] = await server.received(1);
  assert.deepEqual(mail?.to, [good.owner]);
  const { rows } = await sql<{ id: string; stage: string; webhookId: string }>`
    select id, stage, webhook_id as "webhookId" from set_aside order by id
  `.execute(database);
  assert.deepEqual(
    rows.map(({ stage, webhookId }) => ({ stage, webhookId })),
    [
      { stage: 'mail', webhookId: late.webhookId },
      { stage: 'mail', webhookId: bad.webhookId },
    ],
  );
  await sql`drop function refuse_mail cascade`.execute(database);
  await database.transaction().execute((tx) =>
    retrySetAside(
      tx,
      rows.map(({ id }) => id),
    ),
  );
  await pass('0');
  assert.deepEqual((await server.received(2))[1]?.to, [bad.owner]);
  assert.ok((await settledRow(late)).given_up_at, 'it is too old');
});
