import { Text } from '@mantine/core';
import type { CreatedKey, RotatedKey } from '../api/types.ts';
import { CodeBlock } from '../ui/code-block.tsx';
import { SecretOnce } from '../ui/secret-once.tsx';
import { Time } from '../ui/time.tsx';
import { nameOfKey } from './name-of-key.ts';
import { curlOf } from './sample-call.ts';
import { TryKey } from './try-key.tsx';

export type MadeKey = CreatedKey | RotatedKey;

/** Shows a new key once, with a request to try it. */
export function NewKey({ made, done }: { made: MadeKey; done: () => void }) {
  return (
    <SecretOnce title={`Your new key: ${nameOfKey(made)}`} secret={made.key} done={done}>
      {'previous' in made && <Previous endsAt={made.previous.endsAt} />}
      <CodeBlock
        label={`Call the API with it (…${made.last4})`}
        text={curlOf(made.key, made.scopes)}
        wrap
      />
      <TryKey apiKey={made.key} scopes={made.scopes} />
    </SecretOnce>
  );
}

function Previous({ endsAt }: { endsAt: string }) {
  const isOver = Date.parse(endsAt) <= Date.now();
  return (
    <Text size="sm">
      {isOver ? (
        'The old key no longer works.'
      ) : (
        <>
          The old key works until <Time at={endsAt} />. Replace it by then.
        </>
      )}
    </Text>
  );
}
