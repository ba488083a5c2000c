/** An installation whose apps have one owner each gets members. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { removeManager } from '../../src/access/managers.ts';
import { listMembers } from '../../src/access/members.ts';
import { listOwnApps } from '../../src/access/own-apps.ts';
import { listOwnAudit } from '../../src/access/own-audit.ts';
import { sql } from '../../src/database/database.ts';
import { migrate } from '../../src/database/migrate.ts';
import { testActor } from '../support/actor.ts';
import { openBeforeUpgrade } from '../support/upgrade.ts';

const { database } = await openBeforeUpgrade('0017_queue.sql');
const [ada, bob] = ['ada@example.org', 'bob@example.org'];

test("an upgrade makes every app's owner its one owner, and bindings stay", async () => {
  const { rows: orgs } = await sql<{ id: string }>`
    insert into orgs (id, slug, name, name_sort, search_text)
    values (uuid_v7(), 'acme', 'Acme', 'acme', 'acme') returning id
  `.execute(database);
  const org = orgs[0]?.id ?? '';
  const [bound, unbound, deleted] = [randomUUID(), randomUUID(), randomUUID()];
  await sql`
    insert into apps (id, name, owner_email, created_at)
    values (${bound}, 'Bound', ${ada}, now() - interval '1 year'), (${unbound}, 'Unbound', ${bob}, now())
  `.execute(database);
  await sql`
    insert into users (id, name, email, email_verified, created_at)
    values (uuid_v7(), 'Bob', ${bob}, true, now() - interval '1 year')
  `.execute(database);
  await sql`insert into org_managers (org_id, email) values (${org}, ${ada})`.execute(database);
  await sql`
    insert into bindings (app_id, owner_email, org_id, created_at)
    values (${bound}, ${ada}, ${org}, now() - interval '1 month')
  `.execute(database);
  await sql`
    insert into audit_log (actor_kind, actor_name, action, subject_kind, subject_id, app_id, details)
    values ('cli', 'root', 'app.deleted', 'app', ${deleted}, ${deleted},
      jsonb_build_object('name', 'Deleted', 'owner', ${bob}::text))
  `.execute(database);
  const before = await bindings();

  await migrate(database);

  assert.deepEqual(await bindings(), before);
  assert.equal(before.length, 1);
  for (const [appId, owner] of [
    [bound, ada],
    [unbound, bob],
  ] as const) {
    const members = await listMembers(database, appId);
    assert.deepEqual(
      members.map(({ email, role }) => [email, role]),
      [[owner, 'owner']],
    );
  }
  const [app] = await listOwnApps(database, ada);
  assert.deepEqual(
    [app?.name, app?.role, app?.isLastOwner, app?.failureMails, app?.binding?.boundBy],
    ['Bound', 'owner', true, true, ada],
  );
  const page = { appId: deleted, page: 1, limit: 10 };
  assert.equal((await listOwnAudit(database, bob, page)).total, 1);
  assert.equal((await listOwnAudit(database, ada, page)).total, 0);
  // Only what happens from now on is audited.
  const { rows: audited } = await sql`select from audit_log`.execute(database);
  assert.equal(audited.length, 3);

  await database
    .transaction()
    .execute((tx) => removeManager(tx, testActor, { kind: 'organization', id: org }, ada));
  assert.deepEqual(await bindings(), []);
});

async function bindings() {
  const { rows } = await sql`
    select app_id, owner_email, org_id, alliance_id, created_at from bindings
  `.execute(database);
  return rows;
}
