/** A service with an embedded database: if the database dies, the service exits, and the next start recovers. */
import assert from 'node:assert/strict';
import { endsInTime, scenario } from './scenario.ts';

const requestsBetween = 1_500;
const longestMomentMs = 150;

scenario(
  'kill -9 of the embedded database, and of both',
  { expectedStderr: /^the embedded database [^\n]*\n/gm, publishEveryMs: 100 },
  async ({ store, ...world }) => {
    // From here on the service starts it.
    await store.stop();
    for (const both of [false, true]) {
      const service = world.startService();
      await service.started;
      await world.receivers.more(requestsBetween);
      await world.moment(longestMomentMs);
      await world.fault(async () => {
        await Promise.all([store.kill(), both && service.kill()]);
        await endsInTime(service.ended);
      });
      if (both) continue;
      assert.equal((await service.ended).code, 1);
      assert.match(service.stderr(), /^the embedded database has stopped; its log is /m);
    }
    await world.startService().started;
  },
);
