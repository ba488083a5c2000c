/** Chooses between replicas and the primary. Real standbys are read in `npm run test:scale`. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createDatabaseClock } from '../../src/database/clock.ts';
import { openClient } from '../../src/database/database.ts';
import { Replicas } from '../../src/database/replicas.ts';
import { Revisions } from '../../src/database/revisions.ts';
import { Session } from '../../src/database/session.ts';
import { readPublic } from '../../src/directory/public-entries.ts';
import { openCuttableDatabase } from '../support/cuttable-database.ts';
import { openTestDatabase } from '../support/database.ts';

test('a server that is not a standby is not read, and the primary is', async (t) => {
  const direct = await openTestDatabase();
  const { opened } = await openCuttableDatabase(direct);
  const { host, port, user, password, database } = openClient(opened.connection, {
    applicationName: 'test',
  });
  const url = `postgres://${user}:${encodeURIComponent(password ?? '')}@${host}:${port}/${database}`;
  const revisions = new Revisions(
    direct.database,
    new Session(direct.connection),
    createDatabaseClock(),
  );
  const replicas = new Replicas({
    urls: [url],
    primary: direct.database,
    revisions,
    onChange: () => {},
  });
  t.after(() => Promise.all([replicas.stop(), revisions.stop()]));
  await revisions.start();
  await replicas.start();
  const { row } = await replicas.read('directory', (from) => {
    assert.equal(from, direct.database);
    return readPublic(from, 'orgs', 'nobody', 'http://directory.test');
  });
  assert.equal(row, null);
});
