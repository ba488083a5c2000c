import { Text } from '@mantine/core';
import type { CreatedKey, RotatedKey } from '../api/types.ts';
import { CodeBlock } from '../ui/code-block.tsx';
import { SecretOnce } from '../ui/secret-once.tsx';
import { Time } from '../ui/time.tsx';
import { nameOfKey } from './key-state.ts';
import { curlOf } from './sample-call.ts';
import { TryKey } from './try-key.tsx';

export type IssuedKey = CreatedKey | RotatedKey;

/** Shows a new key once, with a request to try it. */
export function NewKey({ issued, done }: { issued: IssuedKey; done: () => void }) {
  const { key, last4, scopes } = issued;
  return (
    <SecretOnce title={`Your new key: ${nameOfKey(issued)}`} secret={key} done={done}>
      {'previous' in issued && <Previous endsAt={issued.previous.endsAt} />}
      <CodeBlock label={`Call the API with it (…${last4})`} text={curlOf(key, scopes)} wrap />
      <TryKey apiKey={key} scopes={scopes} />
    </SecretOnce>
  );
}

function Previous({ endsAt }: { endsAt: string }) {
  if (Date.parse(endsAt) <= Date.now()) return <Text size="sm">The old key no longer works.</Text>;
  return (
    <Text size="sm">
      The old key works until <Time at={endsAt} />. Use the new one by then.
    </Text>
  );
}
