/** An installation with a directory gets the tables that searches read. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '../../src/database/database.ts';
import { migrate } from '../../src/database/migrate.ts';
import { put } from '../support/directory.ts';
import { startInternalApi } from '../support/internal-api.ts';
import { startTestService } from '../support/service.ts';
import { openBeforeUpgrade } from '../support/upgrade.ts';

const installation = await openBeforeUpgrade('0022_queue_floors.sql');
const { database } = installation;

test('an upgrade keeps all entries findable, and unlisted ones hidden', async () => {
  await sql`
    insert into alliances (id, slug, name, name_sort, search_text)
    values (uuid_v7(), 'herd', 'Herd', 'herd', 'herd')
  `.execute(database);
  await sql`
    insert into orgs (id, slug, name, name_sort, search_text, member_count, listed)
    select uuid_v7(), 'herd-' || n, 'Herd ' || n, 'herd ' || n, 'herd ' || n || E'\nherd-' || n, n, n > 5
    from generate_series(1, 1000) n
  `.execute(database);

  await migrate(database);

  const service = await startTestService({ beside: installation });
  const { call } = await startInternalApi(service);
  const find = async (answer: ReturnType<typeof call>) => {
    const { body } = await answer;
    const slugs = (body.data as { slug: string }[]).map(({ slug }) => slug);
    return { slugs, total: body.pagination.total as number };
  };
  const page = { slugs: ['herd-1000', 'herd-999'], total: 995 };
  assert.deepEqual(await find(service.call('/orgs?search=herd&limit=2')), page);
  assert.deepEqual((await find(service.call('/alliances?search=herd'))).slugs, ['herd']);
  assert.equal((await find(call('/orgs?search=herd'))).total, 1000);
  await put(database, 'orgs', [{ slug: 'herd-1000', name: 'Renamed', listed: false }]);
  await service.settled();
  const after = { slugs: ['herd-999', 'herd-998'], total: 994 };
  assert.deepEqual(await find(service.call('/orgs?search=herd&limit=2')), after);
  await sql`delete from orgs where slug <> 'herd-7'`.execute(database);
  await service.settled();
  assert.deepEqual(await find(service.call('/orgs?search=herd')), { slugs: ['herd-7'], total: 1 });
});
