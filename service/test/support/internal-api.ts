/** The internal API of a test's service on a real socket. Every answer is checked against openapi.internal.json. */
import { createPlatformKey } from '../../src/access/keys.ts';
import { testActor } from './actor.ts';
import { checkInternalAnswer } from './openapi-check.ts';
import { send, type Answer, type CallOptions, type TestService } from './service.ts';

export type TestInternalApi = {
  url: string;
  /** A platform key. */
  key: string;
  keyId: string;
  /** `path` is below `/internal/v1`. Sends `key` unless told otherwise. */
  call: (path: string, options?: CallOptions) => Promise<Answer>;
};

/** The service stops it. */
export async function startInternalApi({
  database,
  internalApp,
}: Pick<TestService, 'database' | 'internalApp'>): Promise<TestInternalApi> {
  const url = await internalApp.listen({ host: '127.0.0.1', port: 0 });
  const { id: keyId, key } = await database
    .transaction()
    .execute((tx) => createPlatformKey(tx, testActor, { name: 'Platform', expiresAt: null }));
  return {
    url,
    key,
    keyId,
    call: (path, options = {}) =>
      send(`${url}/internal/v1`, path, { key, ...options }, checkInternalAnswer),
  };
}
