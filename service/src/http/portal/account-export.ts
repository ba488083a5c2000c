/**
 * GET /account/export: all data about the user as one JSON file. It is written page by page while it is read from the
 * database, and holds one page as text while the client reads, so that its size does not matter. Each page reads its rows
 * and the user's role in one statement: what the user lost meanwhile is left out from then on. Once the session has ended
 * or the account is suspended, no page is sent, and the response breaks off.
 */
import { Readable } from 'node:stream';
import { listMemberKeys } from '../../access/list-app-keys.ts';
import { listOwnInvitations, type OwnInvitation } from '../../access/invitations.ts';
import type { ApiKey } from '../../access/keys.ts';
import { listOwnApps } from '../../access/own-apps.ts';
import { listUserEntries, type UserEntry } from '../../access/audit-log.ts';
import { AccountExport } from '../../contract/account-export.ts';
import { exampleId, exampleTime } from '../../contract/examples.ts';
import type { Bindable } from '../../contract/portal.ts';
import { listBindable } from '../../directory/bindable.ts';
import type { DirectoryReads } from '../../directory/list.ts';
import { ServiceError } from '../../errors.ts';
import { holdExport, type ExportHold } from '../../sign-in/hold-export.ts';
import { readAccount } from '../../sign-in/list-accounts.ts';
import { readPreferences } from '../../sign-in/preferences.ts';
import { listFactors } from '../../sign-in/second-factor.ts';
import { listSessions } from '../../sign-in/sessions.ts';
import { listMemberWebhooks, type MemberWebhook } from '../../webhooks/management/webhooks.ts';
import { withoutSecrets } from '../webhooks/webhook-operations.ts';
import { toPortalKey } from './keys.ts';
import { exampleMethod } from './sign-in.ts';
import { operation } from './surface.ts';

/** Some 30 KB of text: an export whose client does not read holds that, and what the connection buffers. */
const rowsAtOnce = 50;

export const exportAccount = operation({
  operationId: 'exportAccount',
  method: 'GET',
  path: '/account/export',
  summary: 'Export your data',
  description:
    'Returns a file with your account, its ways to sign in, second factor and sessions, your apps with their keys and webhooks, what you manage, and your entries of the audit log. The file has no secrets and no envelope. Returns `conflict` while another export of your account is running. The response breaks off if the session ends meanwhile.',
  returns: { 200: 'Your data.' },
  errors: ['conflict'],
  response: {
    schema: AccountExport,
    example: {
      exportedAt: exampleTime,
      account: {
        id: exampleId,
        name: 'Ada',
        email: 'ada@example.org',
        image: null,
        createdAt: exampleTime,
        operatorRole: null,
        announcementMails: true,
      },
      methods: [exampleMethod],
      secondFactor: { passkeys: [], authenticator: null, recoveryCodesLeft: 0 },
      sessions: [],
      apps: [],
      keys: [],
      webhooks: [],
      invitations: [],
      managed: [
        { kind: 'organization', id: exampleId, slug: 'acme-corporation', name: 'Acme Corporation' },
      ],
      activity: [],
      changes: [],
    },
  },
  async run(context) {
    const hold = await holdExport(context.database, context.account);
    if (!hold)
      throw new ServiceError(
        'conflict',
        'Another export of your account is running. Wait until it ends.',
      );
    context.reply.headers({
      'content-type': 'application/json; charset=utf-8',
      'content-disposition': 'attachment; filename="account.json"',
    });
    // Without a body there is nothing to read, and nothing that a request after it would have to wait for.
    const isHead = context.reply.request.method === 'HEAD';
    // Bytes instead of objects, so that it reads only one page ahead.
    const stream = Readable.from(isHead ? [] : writeExport(context, hold), {
      objectMode: false,
      highWaterMark: 1,
    });
    if (isHead) await hold.release();
    // Also if the client is gone, even before the first page.
    return stream.once('close', () => void hold.release());
  },
});

type Context = DirectoryReads & {
  /** `sessionId`: null if it is an operator who exports. */
  account: { id: string; email: string; sessionId: string | null };
};

/** The file, in parts. `hold`: ends it with the session's right to read it; an operator needs none. */
export async function* writeExport(context: Context, hold?: ExportHold) {
  const { database, search, account } = context;
  const { id, email, sessionId } = account;
  const { name, image, createdAt, operatorRole, methods } = await readAccount(database, id);
  const preferences = await readPreferences(database, id);
  const head = {
    exportedAt: new Date(),
    account: { id, name, email, image, createdAt, operatorRole, ...preferences },
    methods,
    secondFactor: await listFactors(database, id),
    sessions: await listSessions(database, id, sessionId),
    apps: await listOwnApps(database, email),
  };
  await hold?.renew();
  yield JSON.stringify(head).slice(0, -1);
  yield* writeList<ApiKey>(
    hold,
    'keys',
    (last) => listMemberKeys(database, id, last, rowsAtOnce),
    (key) => ({ appId: key.appId, ...toPortalKey(key) }),
  );
  yield* writeList<MemberWebhook>(
    hold,
    'webhooks',
    (last) => listMemberWebhooks(database, id, last, rowsAtOnce),
    ({ appId, role, webhook }) => ({
      appId,
      ...(role === 'viewer' ? withoutSecrets(webhook) : webhook),
    }),
  );
  yield* writeList<OwnInvitation>(hold, 'invitations', (last) =>
    listOwnInvitations(database, email, rowsAtOnce, last),
  );
  let page = 0;
  yield* writeList<Bindable>(
    hold,
    'managed',
    async () => {
      page += 1;
      const query = { page, limit: rowsAtOnce };
      return (await listBindable({ database, search }, email, query)).entries;
    },
    ({ kind, id: subjectId, slug, name: subjectName }) => ({
      kind,
      id: subjectId,
      slug,
      name: subjectName,
    }),
  );
  for (const [field, kind] of [
    ['activity', 'account'],
    ['changes', 'changes'],
  ] as const)
    yield* writeList<UserEntry>(hold, field, (last) =>
      listUserEntries(database, id, kind, last, rowsAtOnce),
    );
  // Whoever has received the end may export again.
  await hold?.release();
  yield '}\n';
}

/** A field of the object. `read`: returns the rows after `last`. */
async function* writeList<Row extends object>(
  hold: ExportHold | undefined,
  field: string,
  read: (last: Row | null) => Promise<Row[]>,
  toEntry: (row: Row) => object = (row) => row,
): AsyncGenerator<string> {
  yield `,\n${JSON.stringify(field)}:[`;
  let last: Row | null = null;
  let separator = '\n';
  do {
    // Keeps the text while the client reads, not the rows.
    const written: WrittenPage<Row> = write(await read(last), toEntry);
    await hold?.renew();
    if (written.text !== '') yield separator + written.text;
    separator = ',\n';
    last = written.last;
  } while (last);
  yield ']';
}

type WrittenPage<Row> = {
  text: string;
  /** Null on the last page. */
  last: Row | null;
};

function write<Row>(rows: Row[], toEntry: (row: Row) => object): WrittenPage<Row> {
  const text = rows.map((row) => JSON.stringify(toEntry(row))).join(',\n');
  return { text, last: (rows.length === rowsAtOnce && rows.at(-1)) || null };
}
