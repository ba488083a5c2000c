import { ApiError, createClient } from '@orgdir/client';
import { Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { apiAddress } from '../api/public-api.ts';
import { CodeBlock } from '../ui/code-block.tsx';
import { Problem } from '../ui/problem.tsx';
import { sampleFor, type SampleResult } from './sample-call.ts';
import type { Scope } from './scopes.ts';
import { BusyButton } from '../ui/busy-button.tsx';

type Outcome =
  | ({ kind: 'responded' } & SampleResult)
  | { kind: 'refused' }
  | { kind: 'failed'; error: unknown };

/** Longer responses are cut, because the start is enough to see that the key works. */
const responseLengthMax = 300;

/** Calls the API with a key as a program would, from this page. */
export function TryKey({ apiKey, scopes }: { apiKey: string; scopes: Scope[] }) {
  // Never rejects: a 401 of the API is about the key and must not end the user's session.
  const attempt = useMutation({ mutationFn: () => tryKey(apiKey, scopes) });
  const outcome = attempt.data;
  return (
    <Stack gap="xs" align="stretch">
      <div>
        <BusyButton size="xs" onClick={() => attempt.mutate()} busy={attempt.isPending}>
          Try it
        </BusyButton>
      </div>
      <Text size="sm" role="status">
        {outcome?.kind === 'responded' && `It works: ${outcome.summary}.`}
        {outcome?.kind === 'refused' &&
          'The service refuses this key: it was revoked or has expired.'}
      </Text>
      {outcome?.kind === 'responded' && (
        <CodeBlock label="Response" text={shorten(outcome.response)} wrap />
      )}
      {outcome?.kind === 'failed' && <Problem error={outcome.error} />}
    </Stack>
  );
}

async function tryKey(apiKey: string, scopes: Scope[]): Promise<Outcome> {
  try {
    // No retries, because the user is waiting and can try again.
    const client = createClient({ baseUrl: apiAddress, apiKey, retries: 0 });
    return { kind: 'responded', ...(await sampleFor(scopes).call(client)) };
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return { kind: 'refused' };
    return { kind: 'failed', error };
  }
}

function shorten(response: unknown): string {
  const text = JSON.stringify(response);
  return text.length > responseLengthMax ? `${text.slice(0, responseLengthMax)}…` : text;
}
