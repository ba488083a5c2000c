/** Announcements are shown everywhere within a second until they end, and mailed to the owners who want them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setMember } from '../../src/access/members.ts';
import { sql } from '../../src/database/database.ts';
import { announcementsMax } from '../../src/system/announcements.ts';
import { testActor } from '../support/actor.ts';
import { toUrl } from '../support/database.ts';
import { eventually, withinASecond } from '../support/eventually.ts';
import { signUp } from '../support/portal.ts';
import { runHere } from '../support/run-here.ts';
import { makeKey, startTestService } from '../support/service.ts';
import { startSmtpServer } from '../support/smtp-server.ts';

const mailbox = await startSmtpServer();
const env = { SMTP_URL: `smtp://127.0.0.1:${mailbox.port}`, MAIL_FROM: 'orgdir@example.org' };
const service = await startTestService({ env });
const beside = await startTestService({ beside: service });
const { database } = service;
service.mailSender?.start();

const runAnnouncements = (...words: string[]) =>
  runHere(['announcements', ...words], { DATABASE_URL: toUrl(service.connection) });

async function run(...words: string[]): Promise<any> {
  const { code, stdout, stderr } = await runAnnouncements(...words, '--json');
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout);
}
const create = (text: string, ...flags: string[]) => run('create', '--text', text, ...flags);

async function shown(): Promise<{ text: string; severity: string }[]> {
  const { body } = await beside.call('/status', { key: null });
  return body.data.announcements;
}

async function endAll(): Promise<void> {
  for (const { id } of await run('list')) await run('end', id);
  await withinASecond(async () => (await shown()).length === 0);
}

test('a maintenance announced with its date is in the status of every process and on its page, until its end', async () => {
  const { id } = await create(
    'The directory <moves> to a larger machine.',
    '--severity',
    'warning',
    '--starts',
    '2099-01-31T20:00Z',
    '--ends',
    '2099-01-31T22:00Z',
  );
  await withinASecond(async () => (await shown()).length === 1);
  const [{ createdAt, ...first }] = (await shown()) as any;
  assert.deepEqual(first, {
    id,
    severity: 'warning',
    text: 'The directory <moves> to a larger machine.',
    startsAt: '2099-01-31T20:00:00.000Z',
    endsAt: '2099-01-31T22:00:00.000Z',
  });
  assert.ok(Math.abs(Date.now() - Date.parse(createdAt)) < 60_000);
  const page = await (await fetch(`${beside.url}/status`)).text();
  const [, notice = ''] = /(<p class="notice[^]*?<\/p>)/.exec(page) ?? [];
  assert.match(notice, /<strong>Warning\.<\/strong>\s+The directory &#60;moves&#62; to a larger/);
  await create('Later.', '--severity', 'critical');
  await withinASecond(async () => (await shown())[0]?.text === 'Later.');
  // Its end has come.
  await sql`update announcements set ends_at = now() where id = ${id}`.execute(database);
  await withinASecond(async () => (await shown()).length === 1);
  await endAll();
});

test('owners who want announcements get one mail each, whatever the number of their apps', async () => {
  const ada = await signUp(beside, 'ada@example.org');
  const bob = await signUp(beside, 'bob@example.org');
  for (const owner of [
    'ada@example.org',
    'ada@example.org',
    'bob@example.org',
    'new@example.org',
  ]) {
    const { appId } = await makeKey(service, { owner });
    const developer = { appId, email: 'developer@example.org', role: 'developer' } as const;
    await database.transaction().execute((tx) => setMember(tx, testActor, developer));
  }
  const path = '/account/preferences';
  assert.deepEqual((await bob.call(path)).body.data, { announcementMails: true });
  const json = { announcementMails: false };
  assert.deepEqual((await bob.call(path, { method: 'PATCH', json })).body.data, json);
  assert.deepEqual((await bob.call(path)).body.data, json);
  assert.deepEqual((await ada.call(path)).body.data, { announcementMails: true });
  await create('Not by mail.');
  const { mails } = await create('By mail.', '--mail', '--starts', '2099-01-31');
  // The apps of both processes have an owner, too.
  assert.equal(mails, 4);
  await mailbox.received(4);
  const told = mailbox.mails.map(({ to }) => to[0]);
  assert.deepEqual(told.filter((to) => !to?.startsWith('owner-')).toSorted(), [
    'ada@example.org',
    'new@example.org',
  ]);
  const mail = mailbox.mails.find(({ to }) => to.includes('ada@example.org'));
  assert.match(mail?.text ?? '', /^By mail\.\n\nFrom 2099-01-31T00:00:00\.000Z\n\n/);
  assert.match(mail?.text ?? '', /\/profile\/developer\/account\n/);
  await endAll();
});

test('an announcement that is ended is mailed to nobody else', async () => {
  await service.mailSender?.stop();
  const { id, mails } = await create('Never mind.', '--mail');
  assert.ok(mails > 0);
  await run('end', id);
  const { rows } = await sql`
    select from notices where kind = 'announcement' and next_attempt_at is not null
  `.execute(database);
  assert.equal(rows.length, 0);
});

test('one whose time is over has ended already, and nobody ends it again', async () => {
  const { id } = await create('Over.', '--ends', new Date(Date.now() + 3_600_000).toISOString());
  await sql`update announcements set ends_at = now() where id = ${id}`.execute(database);
  const { code, stderr } = await runAnnouncements('end', id);
  assert.deepEqual([code, /may have ended/.test(stderr)], [1, true], stderr);
  const { rows } = await sql`
    select from audit_log where action = 'announcement.ended' and subject_id = ${id}
  `.execute(database);
  assert.equal(rows.length, 0);
});

test('an announcement that cannot be shown is refused, and nothing is changed', async () => {
  for (const [words, code, said] of [
    [['create'], 2, '--text'],
    [['create', '--text', ' '], 2, 'must have 1 to 500 characters'],
    [['create', '--text', 'x'.repeat(501)], 2, 'must have 1 to 500 characters'],
    [['create', '--text', 'two\nlines'], 2, 'on one line'],
    [['create', '--text', 'x', '--severity', 'urgent'], 2, 'info, warning, critical'],
    [['create', '--text', 'x', '--ends', 'soon'], 2, 'It must be a time'],
    [['create', '--text', 'x', '--ends', '2020-01-01'], 2, 'must be in the future'],
    [
      ['create', '--text', 'x', '--starts', '2099-01-02', '--ends', '2099-01-01'],
      2,
      'must be after --starts',
    ],
    [['end', 'none'], 1, 'There is no announcement with the id none.'],
  ] as const) {
    const result = await runAnnouncements(...words);
    assert.equal(result.code, code, `${words.join(' ')}: ${result.stderr}`);
    assert.ok(result.stderr.includes(said), result.stderr);
  }
  assert.deepEqual(await run('list'), []);
  for (let n = 0; n < announcementsMax; n += 1) await create(`Number ${n}`);
  const { code, stderr } = await runAnnouncements('create', '--text', 'One more.');
  assert.equal(code, 1);
  assert.match(stderr, /at most 5 announcements at a time\. End one first\./);
  assert.match((await runAnnouncements('list')).stdout, /info +- +- +Number 4\n.*Number 3\n/);
  await eventually(async () => (await shown()).length === announcementsMax);
  await endAll();
});
