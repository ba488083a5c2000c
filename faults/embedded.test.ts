/** A service with an embedded database: if the database dies, the service exits, and the next start recovers. */
import assert from 'node:assert/strict';
import { endsInTime } from '../harness/start-process.ts';
import { scenario } from './scenario.ts';

const requestsBetween = 1_500;

scenario(
  'kill -9 of the embedded database, and of both',
  { expectedStderr: /^the embedded database [^\n]*\n/gm, publishEveryMs: 100 },
  async ({ store, ...scene }) => {
    // From here on the service starts it.
    await store.stop();
    const start = () => scene.start({ DATA_DIR: store.dataDir }, { args: ['--no-demo'] });
    for (const both of [false, true]) {
      const service = start();
      await service.started;
      await scene.faultAfter(requestsBetween, async () => {
        await Promise.all([store.kill(), both && service.kill()]);
        await endsInTime(service.ended);
      });
      if (both) continue;
      assert.equal((await service.ended).code, 1);
      assert.match(service.stderr(), /^the embedded database has stopped; its log is /m);
    }
    await start().started;
  },
);
