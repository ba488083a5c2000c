/** The limits that the reference states are those of the constants in the code. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { invitationMailsPerHour, invitationsPerAppMax } from '../../src/access/invitations.ts';
import { keysPerAppMax, platformKeysMax, temporaryKeysPerAppMax } from '../../src/access/keys.ts';
import { appsPerMemberMax, membersPerAppMax, ownedAppsMax } from '../../src/access/members.ts';
import { reasonCharsMax } from '../../src/access/suspensions.ts';
import { attemptsMax as attemptsPerCycle } from '../../src/contract/delivery-rules.ts';
import { passwordLengthMax, passwordLengthMin } from '../../src/contract/password-length.ts';
import { invitationDays, sessionDays } from '../../src/contract/periods.ts';
import { redeliveredMax } from '../../src/contract/portal-deliveries.ts';
import { nameCharsMax } from '../../src/contract/shapes.ts';
import { attemptsShownMax } from '../../src/contract/webhook.ts';
import { attemptsPerMinute, mailsPerHour } from '../../src/http/portal/sign-in-limits.ts';
import {
  bodySearchesPerMinute,
  redeliveriesPerMinute,
  testsPerMinute,
} from '../../src/http/webhooks/app-limits.ts';
import { recoverDaysMax } from '../../src/http/webhooks/bodies.ts';
import { settings } from '../../src/settings/settings.ts';
import { userAgentCharsMax } from '../../src/sign-in/caller.ts';
import { completeMax, incompleteMax } from '../../src/sign-in/session-proof.ts';
import { urlLengthMax } from '../../src/webhooks/management/check-webhook-url.ts';
import { recoveredMax } from '../../src/webhooks/management/recover.ts';
import {
  overlapSecondsDefault,
  overlapSecondsMax,
} from '../../src/webhooks/management/rotate-secret.ts';
import { webhooksPerAppMax } from '../../src/webhooks/management/webhooks.ts';
import {
  attemptsMax,
  atFirstMax,
  perWebhookMax,
  slowPerHostMax,
  slowPerOwnerMax,
  startsBelow,
  whenCrowdedMax,
} from '../../src/webhooks/queue/dispatch/room.ts';
import { sliceMax } from '../../src/webhooks/queue/fan-out/fan-out.ts';
import { replayedMax } from '../../src/webhooks/queue/replay/replay.ts';
import { headerBytesMax, informationalMax } from '../../src/webhooks/sending/attempt.ts';
import {
  keptBytesMax,
  keptHeaderBytesMax,
  readBytesMax,
} from '../../src/webhooks/sending/response-capture.ts';
import { retryAfterMaxMs } from '../../src/webhooks/sending/retry.ts';

const root = join(import.meta.dirname, '../../..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');

const n = (value: number) => value.toLocaleString('en-GB');
const kib = (bytes: number) => `${n(bytes / 1024)} KiB`;
const list = (...values: number[]) => values.map(n).join(' · ');

/** The beginning of each row's cell, by section and by the row's label. */
const rows: Record<string, Record<string, string>> = {
  'Webhooks and deliveries': {
    'webhooks per app': n(webhooksPerAppMax),
    'URL · `description`': n(urlLengthMax),
    'attempts per cycle': n(attemptsPerCycle),
    'time for an attempt': `${Number(settings['WEBHOOK_TIMEOUT_MS']?.default) / 1_000} s`,
    '`Retry-After` of a receiver': `${retryAfterMaxMs / 3_600_000} h at most`,
    'attempts in flight per webhook, over all workers': `1 to ${perWebhookMax}`,
    'attempts in flight per process · of webhooks whose last attempt took longer than a second · that have not been called yet · whose last attempt took longer than half of the deadline':
      list(attemptsMax, startsBelow.slow, startsBelow.unknown, startsBelow.stuck),
    "of those that are not quick: one owner's · one receiver host and port's": list(
      slowPerOwnerMax,
      slowPerHostMax,
    ),
    'response headers · informational responses': `${kib(headerBytesMax)} · ${informationalMax}`,
    'response body read · kept': `${kib(readBytesMax)} · ${kib(keptBytesMax)}`,
    'response headers kept': kib(keptHeaderBytesMax),
    'attempts shown per delivery': n(attemptsShownMax),
    '`overlapSeconds`': `0 to ${n(overlapSecondsMax)} (default ${n(overlapSecondsDefault)})`,
    'tests per minute and app': n(testsPerMinute),
    'requests that redeliver, recover or replay per minute and app · deliveries per request to redeliver, in the portal':
      list(redeliveriesPerMinute, redeliveredMax),
    'searches of bodies per minute and app, in the portal': n(bodySearchesPerMinute),
    'deliveries per recovery or replay · how far back': `${n(recoveredMax)} · ${recoverDaysMax} days`,
    'how long events, deliveries and attempts are kept': `${settings['RETENTION_DAYS']?.default} days`,
  },
  'Keys, apps and the portal': {
    'apps per owner · apps per member': list(ownedAppsMax, appsPerMemberMax),
    'members per app': n(membersPerAppMax),
    'invitations per app at a time · mailed per hour': list(
      invitationsPerAppMax,
      invitationMailsPerHour,
    ),
    'mailed invitations per hour and process': `${mailsPerHour.inviter} by one user`,
    invitation: `${invitationDays} days`,
    'usable keys per app · temporary ones · platform keys': list(
      keysPerAppMax,
      temporaryKeysPerAppMax,
      platformKeysMax,
    ),
    'name of an app, key or account': `1 to ${nameCharsMax} characters`,
    'reason of a suspension': `1 to ${reasonCharsMax} characters`,
    password: `${passwordLengthMin} to ${passwordLengthMax} characters`,
    'password attempts per minute': `${attemptsPerMinute.accountAndAddress} per account, ${attemptsPerMinute.address} per address`,
    'mails with a link or code per hour and process': `${mailsPerHour.account} that an account asks for while signed in, ${mailsPerHour.address} per IP address`,
    'links and invitations to a mailbox per hour and process': `${mailsPerHour.senderAndMailbox} from one account or IP address · ${mailsPerHour.repeatsToMailbox} after the first of each · ${mailsPerHour.mailbox} in all`,
    'sessions per account · that still miss a second factor': list(completeMax, incompleteMax),
    '`User-Agent` kept with a session': `${userAgentCharsMax} characters`,
    'session · link in a mail · first-account link': `${sessionDays} days since last use`,
  },
};
/** Rows whose numbers are in a schema or a statement. */
const elsewhere = new Set([
  'names in `events`',
  'email address',
  'portal requests per minute, user and process',
  'exports of an account at a time',
]);

const reference = read('docs/reference/errors-and-limits.md');

for (const [section, stated] of Object.entries(rows))
  test(`the limits under "${section}" are those of the constants`, () => {
    const [, text = ''] = reference.split(`### ${section}\n`);
    const table = /(?:^\|.*\n)+/m.exec(text)?.[0] ?? '';
    const cells = [...table.matchAll(/^\| ([^|]+?) \| ([^|]+?) \|$/gm)];
    assert.ok(cells.length > 10, `the table under ${section} is missing`);
    for (const [, label = '', cell = ''] of cells) {
      if (elsewhere.has(label)) continue;
      const right = stated[label];
      assert.ok(right !== undefined, `"${label}" is stated, but no constant gives it`);
      assert.ok(cell.startsWith(right), `"${label}" is stated as "${cell}", and is ${right}`);
    }
    const labels = new Set(cells.map(([, label]) => label));
    assert.deepEqual(
      Object.keys(stated).filter((label) => !labels.has(label)),
      [],
      'every limit is stated',
    );
  });

test('recoveries and replays have one limit', () => assert.equal(recoveredMax, replayedMax));

test('the rule of room is stated with its numbers', () => {
  const { stuck, unknown, slow } = startsBelow;
  const guide = /\*\*The rule of room\*\*[^]*?(?=\n- \*\*)/.exec(
    read('service/src/webhooks/README.md'),
  )?.[0];
  const numbers = [perWebhookMax, atFirstMax, stuck, unknown, slow, attemptsMax];
  for (const each of [...numbers, slowPerOwnerMax, slowPerHostMax, whenCrowdedMax])
    assert.match(guide ?? '', new RegExp(`\\b${n(each)}\\b`));
  const deliveries = read('docs/reference/deliveries.md').replaceAll('\n', ' ');
  for (const statement of [
    `has not been called yet | ${atFirstMax} |`,
    `with any status | ${perWebhookMax} |`,
    `at most ${perWebhookMax} divided by the seconds`,
    `While a worker has ${unknown} attempts in flight, a webhook that responded within the last second gets ${whenCrowdedMax} at once`,
    `An event for more than ${sliceMax} webhooks is delivered in slices`,
  ])
    assert.ok(deliveries.includes(statement), `deliveries.md does not say "${statement}"`);
});

test('keys.md states how long an invitation is valid', () => {
  const [, days] =
    /An invitation is valid for (\d+) days\./.exec(read('docs/reference/keys.md')) ?? [];
  assert.equal(Number(days), invitationDays);
});
