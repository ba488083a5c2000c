/** The limits that the reference states are those of the constants in the code. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { invitationMailsPerHour, invitationsPerAppMax } from '../../src/access/invitations.ts';
import { platformKeysMax, temporaryKeysPerAppMax } from '../../src/access/keys.ts';
import { appsPerMemberMax, ownedAppsMax } from '../../src/access/members.ts';
import { reasonCharsMax } from '../../src/contract/console.ts';
import {
  attemptsMax as attemptsPerCycle,
  keptBytesMax,
} from '../../src/contract/delivery-rules.ts';
import {
  headerCharsMax,
  headerNameMax,
  headerValueMax,
  ownHeadersMax,
  refusedHeaders,
} from '../../src/contract/own-headers.ts';
import { passwordLengthMax, passwordLengthMin } from '../../src/contract/account.ts';
import {
  firstAccountLinkHours,
  invitationDays,
  linkHours,
  overlapSecondsDefault,
  overlapSecondsMax,
  proofMinutes,
  recoverDaysMax,
  repeatableMinutes,
  sessionDays,
  changesKeptDays,
  slugReservedDays,
  temporaryKeyMinutes,
} from '../../src/contract/periods.ts';
import { changesMax } from '../../src/directory/search/load-index.ts';
import { aliasesMax, aliasLengthMax, managersMax } from '../../src/contract/shared-fields.ts';
import { badLinesNamedMax } from '../../src/directory/import.ts';
import { lineBytesMax } from '../../src/directory/import-source.ts';
import { pageMax, repeatedMax } from '../../src/directory/list-query.ts';
import { facetValuesMax } from '../../src/directory/list.ts';
import { suggestionsMax } from '../../src/directory/suggest.ts';
import { previewedMax } from '../../src/http/portal/webhooks.ts';
import { downloadsPerMinute } from '../../src/http/v1/directory.ts';
import {
  heartbeatSeconds,
  reconnectSeconds,
  slowSeconds,
  streamsPerAddressMax,
  streamsPerAppMax,
  waitingBytesMax as streamBytesMax,
} from '../../src/http/v1/event-streams.ts';
import {
  filterContainedMax,
  filterDepthMax,
  filterNodesMax,
  filterTextMax,
} from '../../src/webhooks/filters/compile-filters.ts';
import { cursorLength } from '../../src/events/cursors.ts';
import { idempotencyKeyDays } from '../../src/events/idempotency-keys.ts';
import { maintenanceRetrySeconds } from '../../src/http/admission/admit.ts';
import {
  runningMax as turnsRunningMax,
  waitingMax as turnsWaitingMax,
} from '../../src/http/admission/caller-turns.ts';
import { bodyBytesMax, requestTimeoutMs } from '../../src/http/app.ts';
import {
  bytesPerSecondMin,
  defaults as stalled,
  waitingBytesMax,
  bodyArrivesWithinMs,
} from '../../src/http/connections/end-stalled.ts';
import { requestTimeoutMs as internalTimeoutMs } from '../../src/http/internal-app.ts';
import {
  bytesMax as bulkBytesMax,
  rowsMax as bulkRowsMax,
  pauseMsMax,
} from '../../src/http/internal/bulk.ts';
import { bytesMax as eventsBytesMax, eventsMax } from '../../src/http/internal/events.ts';
import { compressedFromBytes } from '../../src/http/responses/codings.ts';
import { searchTextMax } from '../../src/http/site/search-page.ts';
import { urlsPerPart } from '../../src/http/site/directory-pages.ts';
import { redirectsMax, sourceBytesMax } from '../../src/sync/open-source.ts';
import { rowsMax as syncRowsMax } from '../../src/sync/stage-blueprints.ts';
import { timeoutMs as syncTimeoutMs } from '../../src/sync/sync-blueprints.ts';
import { askMsMax } from '../../src/sync/sync-chat.ts';
import { maintenanceMessageLengthMax } from '../../src/system/maintenance.ts';
import { probeHours } from '../../src/webhooks/queue/health/healing.ts';
import { invalidMax, lookAgainMs } from '../../src/webhooks/queue/dispatch/chat-limits.ts';
import { lookMs } from '../../src/webhooks/queue/worker.ts';
import { defaultQuotas, quotaNearPercent, quotasMax } from '../../src/contract/quotas.ts';
import { redeliveredMax } from '../../src/contract/portal-deliveries.ts';
import { nameCharsMax } from '../../src/contract/shapes.ts';
import { attemptsShownMax } from '../../src/contract/webhook.ts';
import {
  attemptsPerMinute,
  mailsPerHour,
  slowDownMs,
} from '../../src/http/portal/sign-in-limits.ts';
import {
  bodySearchesPerMinute,
  changesPerMinute,
  redeliveriesPerMinute,
  testsPerMinute,
} from '../../src/http/webhooks/operation.ts';
import { announcementsMax } from '../../src/system/announcements.ts';
import { settings } from '../../src/settings/settings.ts';
import { userAgentCharsMax } from '../../src/sign-in/caller.ts';
import { completeMax, incompleteMax } from '../../src/sign-in/session-proof.ts';
import {
  hostLengthMax,
  labelLengthMax,
  urlLengthMax,
} from '../../src/webhooks/management/check-webhook-url.ts';
import {
  attemptsMax,
  atFirstMax,
  keptForSlow,
  perWebhookMax,
  slowPerHostMax,
  slowPerOwnerMax,
  startsBelow,
  whenCrowdedMax,
} from '../../src/webhooks/queue/dispatch/room.ts';
import { sliceMax } from '../../src/webhooks/queue/fan-out/fan-out.ts';
import { replayedMax } from '../../src/webhooks/replay/replay.ts';
import {
  connectionLifeMs,
  headerBytesMax,
  informationalMax,
  keptHeaderBytesMax,
  readBytesMax,
} from '../../src/webhooks/sending/attempt.ts';
import { unreadableDaysMax } from '../../src/webhooks/sending/deliver.ts';
import {
  discordMax,
  messageMax,
  teamsBytesMax,
} from '../../src/webhooks/sending/render-message.ts';
import { retryAfterMaxMs, waitMaxMs } from '../../src/webhooks/sending/retry.ts';

const root = join(import.meta.dirname, '../../..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');

const timeoutMs = Number(settings['WEBHOOK_TIMEOUT_MS']?.default);
const retention = `\`RETENTION_DAYS\` (${settings['RETENTION_DAYS']?.default} days by default)`;
const n = (value: number) => value.toLocaleString('en-GB');
const kib = (bytes: number) => `${n(bytes / 1024)} KiB`;
const mib = (bytes: number) => `${n(bytes / 1024 / 1024)} MiB`;
const list = (...values: number[]) => values.map(n).join(' · ');

/** The beginning of each row's cell, by section and by the row's label. */
const rows: Record<string, Record<string, string>> = {
  'Webhooks and deliveries': {
    'webhooks per app': n(defaultQuotas.webhooks),
    'URL · `description`': n(urlLengthMax),
    'attempts per cycle': n(attemptsPerCycle),
    'time for an attempt': `${Number(settings['WEBHOOK_TIMEOUT_MS']?.default) / 1_000} s`,
    '`Retry-After` of a receiver': `${retryAfterMaxMs / 3_600_000} h at most`,
    'attempts in flight per webhook, over all workers': `1 to ${perWebhookMax}`,
    'attempts in flight per process · of webhooks whose last attempt took longer than a second · that have not been called yet · whose last attempt took longer than half of the deadline':
      list(attemptsMax, startsBelow.slow, startsBelow.unknown, startsBelow.stuck),
    'of those, for webhooks alone whose last attempt took from a second to half of the deadline':
      n(keptForSlow),
    "of those that are not quick: one owner's · one receiver host and port's": list(
      slowPerOwnerMax,
      slowPerHostMax,
    ),
    'own headers · characters in a name · in a value · in all': list(
      ownHeadersMax,
      headerNameMax,
      headerValueMax,
      headerCharsMax,
    ),
    'response headers · informational responses': `${kib(headerBytesMax)} · ${informationalMax}`,
    'response body read · kept': `${kib(readBytesMax)} · ${kib(keptBytesMax)}`,
    'response headers kept': kib(keptHeaderBytesMax),
    'attempts shown per delivery': n(attemptsShownMax),
    '`overlapSeconds`': `0 to ${n(overlapSecondsMax)} (default ${n(overlapSecondsDefault)})`,
    'a [filter](events.md#filters): fields, operators and values in lists · objects in each other · characters of a text':
      list(filterNodesMax, filterDepthMax, filterTextMax),
    'tests per minute and app': n(testsPerMinute),
    'changes of webhooks per minute and app · of everything else in the portal, per minute and account':
      n(changesPerMinute),
    'requests that redeliver, recover or replay per minute and app · deliveries per request to redeliver, in the portal':
      list(redeliveriesPerMinute, redeliveredMax),
    'searches of bodies per minute and app, in the portal': n(bodySearchesPerMinute),
    'deliveries per recovery or replay · how far back': `${n(replayedMax)} · ${recoverDaysMax} days`,
    'how long events, deliveries and attempts are kept': `${settings['RETENTION_DAYS']?.default} days`,
  },
  'Public API': {
    'request body': kib(bodyBytesMax),
    'time for a request to arrive': `${requestTimeoutMs / 1_000} s`,
    'reading a response': `${bytesPerSecondMin / 1_024} KiB/s of what waits to be sent, over ${stalled.windowMs / 1_000} s; otherwise the connection is closed. The internal listener has the same limit. While more than ${mib(waitingBytesMax)} wait in a process`,
    'downloads per minute and app': n(downloadsPerMinute),
    'requests of an app, an account or an address in each process that run at a time · that wait':
      list(turnsRunningMax, turnsWaitingMax),
    '[streams](events.md#live-stream) in each process: of an app · of an address': `${streamsPerAppMax} · ${streamsPerAddressMax}`,
    'events of a stream that wait to be read': `${kib(streamBytesMax)} for ${slowSeconds} s`,
    '`limit` · `page`': `1 to 100 · 1 to ${n(pageMax)}`,
    'values per facet · suggestions': list(facetValuesMax, suggestionsMax),
    'values of a repeated filter': n(repeatedMax),
  },
  'Internal API, SQL and imports': {
    'platform keys': n(platformKeysMax),
    'time for a body to arrive, except of a bulk write': `${bodyArrivesWithinMs / 1_000} s`,
    'request body of one entry; line of an import, a bulk write or several events':
      mib(lineBytesMax),
    'events in a request': `${n(eventsMax)}, ${mib(eventsBytesMax)}`,
    'bulk write': `${n(bulkRowsMax)} lines, ${mib(bulkBytesMax)}, ${internalTimeoutMs / 60_000} minutes, no pause over ${pauseMsMax / 1_000} s`,
    'bad lines named': n(badLinesNamedMax),
    'managers per organisation or alliance': n(managersMax),
    'idempotency key': `1 to 255 visible ASCII characters, remembered for ${idempotencyKeyDays} days`,
    'maintenance message': `${maintenanceMessageLengthMax} characters`,
    'old slug kept for its entry': `${slugReservedDays} days`,
    'blueprint sync': `${mib(sourceBytesMax)}, ${n(syncRowsMax)} rows, ${syncTimeoutMs / 60_000} minutes, ${redirectsMax} redirects`,
    'chat sync': `${askMsMax / 60_000} minutes`,
  },
  'Keys, apps and the portal': {
    'apps per owner · apps per member': list(ownedAppsMax, appsPerMemberMax),
    'members per app': n(defaultQuotas.members),
    'invitations per app at a time · mailed per hour': list(
      invitationsPerAppMax,
      invitationMailsPerHour,
    ),
    'mailed invitations per hour and process': `${mailsPerHour.inviter} by one user`,
    invitation: `${invitationDays} days`,
    'usable keys per app · temporary ones · platform keys': list(
      defaultQuotas.keys,
      temporaryKeysPerAppMax,
      platformKeysMax,
    ),
    'name of an app, key or account': `1 to ${nameCharsMax} characters`,
    'reason of a suspension': `1 to ${reasonCharsMax} characters`,
    password: `${passwordLengthMin} to ${passwordLengthMax} characters`,
    'password attempts per minute and process': `${attemptsPerMinute.accountAndAddress} from one IP address at one account, ${attemptsPerMinute.address} from one IP address; after ${attemptsPerMinute.accountOrDevice} at one account each takes ${slowDownMs / 1_000} s longer`,
    'mails with a link or code per hour and process': `${mailsPerHour.account} that an account asks for while signed in, ${mailsPerHour.address} per IP address`,
    'links and invitations to a mailbox per hour and process': `${mailsPerHour.senderAndMailbox} from one account or IP address · ${mailsPerHour.repeatsToMailbox} after the first of each · ${mailsPerHour.mailbox} in all`,
    'sessions per account · that still miss a second factor': list(completeMax, incompleteMax),
    '`User-Agent` kept with a session': `${userAgentCharsMax} characters`,
    'session · link in a mail · first-account link': `${sessionDays} days since last use · ${linkHours} hour · ${firstAccountLinkHours} hours`,
  },
};
/** Rows whose numbers are in a schema or a statement. */
const elsewhere = new Set([
  'names in `events`',
  'email address',
  'portal requests per minute, user and process',
  'exports of an account at a time',
  'request headers',
  'nesting of a body',
  '`search`, `activity`, `facets`, `q` · `language` · `ingredient`, `location`',
  '`orgs` in a write of an alliance',
  '`data` of `publish_event`',
  'wait for other writers',
]);

const reference = read('docs/reference/errors-and-limits.md');

for (const [section, stated] of Object.entries(rows))
  test(`the limits under "${section}" are those of the constants`, () => {
    const [, text = ''] = reference.split(`### ${section}\n`);
    const table = /(?:^\|.*\n)+/m.exec(text)?.[0] ?? '';
    const cells = [...table.matchAll(/^\| ([^|]+?) \| ([^|]+?) \|$/gm)];
    assert.ok(cells.length > 5, `the table under ${section} is missing`);
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

test('the rule of room is stated with its numbers', () => {
  const { stuck, unknown, slow } = startsBelow;
  const guide = /\*\*The rule of room\*\*[^]*?(?=\n- \*\*)/.exec(
    read('service/src/webhooks/README.md'),
  )?.[0];
  const numbers = [perWebhookMax, atFirstMax, stuck, unknown, slow, attemptsMax];
  for (const each of [...numbers, keptForSlow, slowPerOwnerMax, slowPerHostMax, whenCrowdedMax])
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

test('the names that own headers must not have are listed with the reason', () => {
  const deliveries = read('docs/reference/deliveries.md').toLowerCase();
  for (const [reason, names] of Object.entries(refusedHeaders)) {
    const row = deliveries.split('\n').find((line) => line.endsWith(`| ${reason} |`)) ?? '';
    for (const name of names)
      assert.ok(row.includes(`\`${name.replace(/-$/, '-*')}\``), `${name} ${reason}`);
  }
});

/** What the reference says with a number outside its tables of limits. */
const sentences: Record<string, string[]> = {
  'deliveries.md': [
    `within ${timeoutMs / 1_000} seconds (\`WEBHOOK_TIMEOUT_MS\`)`,
    `headers over ${kib(headerBytesMax)}, more than ${informationalMax} informational`,
    ...waits(),
    `to at most ${retryAfterMaxMs / 3_600_000} hours`,
    `at most ${perWebhookMax} divided by the seconds, and at least 1: four at 2 s, one at ${perWebhookMax} s`,
    `${perWebhookMax} attempts to the webhook are in flight`,
    `While a worker has ${startsBelow.unknown} attempts in flight`,
    `An event for more than ${sliceMax} webhooks`,
    `${settings['WEBHOOK_DEACTIVATE_AFTER']?.default} deliveries in a row (\`WEBHOOK_DEACTIVATE_AFTER\`)`,
    `follow ${probeHours[1]}, ${probeHours[2]} and ${probeHours[3]} hours later, then daily for ${probeHours.length - 4} days`,
    `at most ${recoverDaysMax} days ago; the oldest ${n(replayedMax)}`,
    `towards ${redeliveriesPerMinute} requests per minute and app`,
    `(at most ${recoverDaysMax} days ago) until`,
    `A replay queues at most ${n(replayedMax)} deliveries`,
    `at most ${recoverDaysMax} days and the oldest ${n(replayedMax)} deliveries`,
    `(${overlapSecondsDefault / 3_600} hours by default, 0 to ${overlapSecondsMax / 86_400} days)`,
    `idle ones for up to ${connectionLifeMs / 1_000} seconds minus the deadline`,
    `no connection lives longer than ${connectionLifeMs / 1_000} seconds`,
    `An app has at most ${defaultQuotas.webhooks} webhooks`,
    `longer than ${n(urlLengthMax)} characters, or has a host over ${hostLengthMax} characters or a label over ${labelLengthMax}`,
    `A webhook has at most ${ownHeadersMax} headers. A name has at most ${headerNameMax} characters and a value ${n(headerValueMax)}, all names and values together ${n(headerCharsMax)}`,
    `Up to ${kib(readBytesMax)} of a response body are read; the first ${kib(keptBytesMax)} and up to ${kib(keptHeaderBytesMax)} of headers`,
    `its last ${attemptsShownMax} attempts`,
    `a title has at most ${messageMax.title} characters, a text ${n(messageMax.text)}, and there are ${messageMax.fields} fields of ${messageMax.name} and ${n(messageMax.value)} characters; a message for Discord has ${n(discordMax.total)} characters in all, one for Teams ${n(teamsBytesMax)} bytes`,
    `refused ${n(invalidMax)} requests within ten minutes, because Discord blocks an address after ${n(2 * invalidMax)}`,
    `waited for ${waitMaxMs / 3_600_000} hours, while the platform took no message of its webhook, is \`failed\` within ${lookAgainMs / 60_000} minutes`,
    `could not decrypt the webhook's secret, headers or URL for a day, or until the delivery is ${unreadableDaysMax} days old`,
    retention,
  ],
  'events.md': [
    retention,
    `A cursor is ${cursorLength} characters`,
    `every ${heartbeatSeconds} seconds`,
    `\`retry: ${reconnectSeconds * 1_000}\``,
    `more than ${kib(streamBytesMax)} waited for ${slowSeconds} seconds`,
    `at most ${filterNodesMax} fields, operators and values in lists, at most ${filterDepthMax} objects in each other, and texts of at most ${filterTextMax} characters, ${filterContainedMax} of them to be contained`,
    `how many of the last ${previewedMax} events`,
    `${streamsPerAppMax} streams and an address ${streamsPerAddressMax}`,
  ],
  'feeding.md': [
    `up to ${aliasesMax} other names of up to ${aliasLengthMax} characters`,
    `Nobody else gets the old one for ${slugReservedDays} days`,
    `reserved for their ${slugReservedDays} days`,
    `up to ${n(bulkRowsMax)} lines`,
    `pause for more than ${pauseMsMax / 1_000} seconds`,
    `For ${idempotencyKeyDays} days the same key`,
    `up to ${n(eventsMax)} events`,
    `More than ${n(eventsMax)} events or ${mib(eventsBytesMax)}`,
    `looks for new events every ${lookMs} ms`,
  ],
  'keys.md': [
    `${overlapSecondsDefault / 3_600} hours by default, 0 to ${overlapSecondsMax / 86_400} days`,
    `An owner has at most ${ownedAppsMax} apps. An app has at most ${defaultQuotas.keys} usable keys, ${defaultQuotas.webhooks} webhooks and ${defaultQuotas.members} members`,
    `for ${temporaryKeyMinutes} minutes. An app has at most ${temporaryKeysPerAppMax} of them`,
    `An invitation is valid for ${invitationDays} days`,
    `For ${repeatableMinutes} minutes, the same key`,
  ],
  'reads.md': [
    `takes 1 to ${searchTextMax} characters`,
    `in parts of up to ${n(urlsPerPart)}`,
    `more than ${n(changesMax)} entries at once`,
    `come compressed, from ${kib(compressedFromBytes)} on`,
    `For ${slugReservedDays} days nobody else gets the old slug`,
    `A cursor works for at least ${changesKeptDays} days`,
    `newest first, at most ${announcementsMax}:`,
    `An app may download ${downloadsPerMinute} times per minute`,
    `(${maintenanceRetrySeconds.least} to ${n(maintenanceRetrySeconds.most)} seconds)`,
  ],
  'errors-and-limits.md': [
    `${perWebhookMax} attempts to the webhook are in flight`,
    `more than ${proofMinutes} minutes old`,
    `the app has ${defaultQuotas.webhooks} webhooks`,
    `less than ${slugReservedDays} days ago`,
    `the owner has ${ownedAppsMax} apps, the app has ${defaultQuotas.keys} usable keys or its [quota](#quotas) or ${temporaryKeysPerAppMax} temporary keys, or there are ${platformKeysMax} usable platform keys`,
    `the app has ${invitationsPerAppMax} invitations`,
    `webhooks (1 to ${quotasMax.webhooks}), keys (1 to ${n(quotasMax.keys)}), members (1 to ${n(quotasMax.members)}) and requests per minute (1 to ${n(quotasMax.rate)})`,
    `${quotaNearPercent} % of one`,
    `${settings['RATE_LIMIT_PER_MINUTE']?.default} requests per minute (\`RATE_LIMIT_PER_MINUTE\`)`,
    `${testsPerMinute} webhook tests, ${changesPerMinute} changes of webhooks, ${redeliveriesPerMinute} requests that redeliver, recover or replay, and in the portal ${bodySearchesPerMinute} searches`,
    `at most ${changesPerMinute} changes per minute`,
    `${turnsRunningMax} run at a time in each process. The next ones wait for their turn; while ${turnsWaitingMax} wait`,
    `one request redelivers up to ${redeliveredMax} deliveries`,
    `[download](reads.md#downloads) ${downloadsPerMinute} times per minute`,
  ],
};
/** The rows of the table of retries, at the default settings. */
function waits(): string[] {
  const baseMs = Number(settings['WEBHOOK_RETRY_BASE_MS']?.default);
  const factor = Number(settings['WEBHOOK_RETRY_FACTOR']?.default);
  let sinceFirstMs = 0;
  return Array.from({ length: attemptsPerCycle - 1 }, (_, index) => {
    const waitMs = baseMs * factor ** index;
    sinceFirstMs += waitMs;
    return `| ${index + 1} | ${span(waitMs)} | ${span(sinceFirstMs)} |`;
  });
}

function span(ms: number): string {
  const parts: [number, string][] = [
    [Math.floor(ms / 3_600_000), 'h'],
    [Math.floor(ms / 60_000) % 60, 'min'],
    [Math.floor(ms / 1_000) % 60, 's'],
  ];
  return parts.flatMap(([count, unit]) => (count === 0 ? [] : `${count} ${unit}`)).join(' ');
}

const units =
  'ms|s|min|h|seconds?|minutes?|hours?|days?|weeks?|KiB|MiB|GiB|bytes|characters|lines|events|attempts|requests|deliveries|webhooks|apps|keys|members|invitations|searches';
const numberWithUnit = new RegExp(`(?<![\\w./,:-])\\d[\\d,]* ?(?:${units})\\b`, 'g');

for (const file of readdirSync(join(root, 'docs/reference')))
  test(`every number with a unit in ${file} is one that a constant gives`, () => {
    const text = read(`docs/reference/${file}`)
      .replaceAll(/```[^]*?```/g, '')
      .split('\n## Limits\n')[0]!
      .replaceAll(/\s+/g, ' ');
    let rest = text;
    for (const sentence of sentences[file] ?? []) {
      assert.ok(text.includes(sentence), `${file} does not say "${sentence}"`);
      rest = rest.replaceAll(sentence, '…');
    }
    const others = [...rest.matchAll(numberWithUnit)].map(({ 0: words, index }) =>
      rest.slice(Math.max(0, index - 40), index + words.length + 20),
    );
    assert.deepEqual(others, [], 'state them in this test, with their constants');
  });
