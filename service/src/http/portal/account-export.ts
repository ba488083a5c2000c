/**
 * GET /account/export: all data about the user as one JSON file. It is written while it is read from the database, so
 * that its size does not matter.
 */
import { Readable } from 'node:stream';
import { listAppKeys } from '../../access/app-keys.ts';
import { listOwnInvitations } from '../../access/invitations.ts';
import { listOwnApps, type OwnApp } from '../../access/own-apps.ts';
import { readUserEntries } from '../../access/user-entries.ts';
import { AccountExport } from '../../contract/account-export.ts';
import { exampleId, exampleTime } from '../../contract/examples.ts';
import type { Database } from '../../database/database.ts';
import { listBindable } from '../../directory/bindable.ts';
import type { DirectoryReads } from '../../directory/list.ts';
import { listWebhooks } from '../../webhooks/management/webhooks.ts';
import { withoutSecrets } from '../webhooks/webhook-operations.ts';
import { operation, type AccountContext } from './account-context.ts';
import { toPortalKey } from './keys.ts';
import { exampleMethod } from './sign-in.ts';

const rowsAtOnce = 100;
/** More than one page of the portal shows. */
const invitationsMax = 1_000;

export const exportAccount = operation({
  operationId: 'exportAccount',
  method: 'GET',
  path: '/account/export',
  summary: 'Export your data',
  description:
    'Returns a file with your account, its ways to sign in and sessions, your apps with their keys and webhooks, what you manage, and your entries of the audit log. The file has no secrets and no envelope.',
  returns: { 200: 'Your data.' },
  response: {
    schema: AccountExport,
    example: {
      exportedAt: exampleTime,
      account: { id: exampleId, name: 'Ada', email: 'ada@example.org', image: null },
      methods: [exampleMethod],
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
  run(context) {
    context.reply.headers({
      'content-type': 'application/json; charset=utf-8',
      'content-disposition': 'attachment; filename="account.json"',
    });
    return Readable.from(writeExport(context));
  },
});

type Context = Pick<AccountContext, 'database' | 'search' | 'accounts' | 'account' | 'signedIn'>;

async function* writeExport({ database, search, accounts, account, signedIn }: Context) {
  const { id, email } = account;
  const { name, image } = signedIn;
  const apps = await listOwnApps(database, email);
  const head = {
    exportedAt: new Date(),
    account: { id, name, email, image },
    methods: await accounts.listMethods(id),
    sessions: await accounts.listSessions(account),
    apps,
    invitations: await listOwnInvitations(database, email, invitationsMax),
  };
  yield JSON.stringify(head).slice(0, -1);
  yield* writeList('keys', readKeys(database, apps));
  yield* writeList('webhooks', readWebhooks(database, apps));
  yield* writeList('managed', readManaged({ database, search }, email));
  yield* writeList('activity', readUserEntries(database, id, 'account'));
  yield* writeList('changes', readUserEntries(database, id, 'changes'));
  yield '}\n';
}

/** A field of an object that is being written. */
async function* writeList(name: string, rows: AsyncIterable<object>): AsyncGenerator<string> {
  yield `,\n${JSON.stringify(name)}:[`;
  let separator = '\n';
  for await (const row of rows) {
    yield separator + JSON.stringify(row);
    separator = ',\n';
  }
  yield ']';
}

async function* readKeys(database: Database, apps: OwnApp[]) {
  for (const { id: appId } of apps)
    yield* readPages(async (page) => {
      const { keys } = await listAppKeys(database, appId, page);
      return keys.map((key) => Object.assign({ appId }, toPortalKey(key)));
    });
}

async function* readWebhooks(database: Database, apps: OwnApp[]) {
  for (const { id: appId, role } of apps)
    yield* readPages(async (page) => {
      const { webhooks } = await listWebhooks(database, appId, page);
      return webhooks.map((webhook) =>
        Object.assign({ appId }, role === 'viewer' ? withoutSecrets(webhook) : webhook),
      );
    });
}

function readManaged(reads: DirectoryReads, email: string) {
  return readPages(async (page) => {
    const { entries } = await listBindable(reads, email, page);
    return entries.map(({ kind, id, slug, name }) => ({ kind, id, slug, name }));
  });
}

async function* readPages<Row>(
  read: (page: { page: number; limit: number }) => Promise<Row[]>,
): AsyncGenerator<Row> {
  let rows: Row[];
  let page = 1;
  do {
    rows = await read({ page, limit: rowsAtOnce });
    yield* rows;
    page += 1;
  } while (rows.length === rowsAtOnce);
}
