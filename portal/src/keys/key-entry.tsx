import { Badge, Code, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { useRef } from 'react';
import type { PortalKey } from '../api/types.ts';
import { DescriptionList, type Term } from '../ui/description-list.tsx';
import { moveFocus } from '../ui/move-focus.ts';
import { Time } from '../ui/time.tsx';
import { keyState, type KeyState } from './key-state.ts';
import type { MadeKey } from './new-key.tsx';
import { RevokeKey } from './revoke-key.tsx';
import { RotateKey } from './rotate-key.tsx';
import { describeScopes } from './scope-words.ts';

const badges: Record<KeyState, { words: string; color: string }> = {
  valid: { words: 'Valid', color: 'green.9' },
  'expires soon': { words: 'Expires soon', color: 'orange.9' },
  expired: { words: 'Expired', color: 'gray.7' },
  revoked: { words: 'Revoked', color: 'gray.7' },
};

export function KeyEntry({
  appId,
  apiKey,
  made,
}: {
  appId: string;
  apiKey: PortalKey;
  made: (key: MadeKey) => void;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  const state = keyState(apiKey, Date.now());
  const hasEnded = state === 'expired' || state === 'revoked';
  return (
    <Paper withBorder p={{ base: 'sm', sm: 'md' }}>
      <Group justify="space-between" align="flex-start">
        <Stack gap="xs" flex="1 1 20rem">
          <Group gap="xs">
            <Title
              order={2}
              size="h4"
              ref={heading}
              tabIndex={-1}
              {...(hasEnded && { c: 'dimmed' })}
            >
              {apiKey.name}
            </Title>
            <Badge color={badges[state].color} variant="filled">
              {badges[state].words}
            </Badge>
            <Code>odk_…{apiKey.last4}</Code>
          </Group>
          <Text size="sm">{describeScopes(apiKey.scopes)}</Text>
          <DescriptionList entries={factsOf(apiKey, state)} layout="line" />
        </Stack>
        {!hasEnded && (
          <Group gap="xs">
            <RotateKey appId={appId} apiKey={apiKey} made={made} />
            <RevokeKey appId={appId} apiKey={apiKey} after={() => moveFocus(heading.current)} />
          </Group>
        )}
      </Group>
    </Paper>
  );
}

function factsOf(key: PortalKey, state: KeyState): Term[] {
  return [
    ['Created', <Time key="created" at={key.createdAt} />],
    ['Last used', key.lastUsedAt ? <Time key="used" at={key.lastUsedAt} /> : 'Never'],
    endOf(key, state),
  ];
}

function endOf({ revokedAt, expiresAt }: PortalKey, state: KeyState): Term {
  if (revokedAt !== null) return ['Revoked', <Time key="revoked" at={revokedAt} />];
  const name = state === 'expired' ? 'Expired' : 'Expires';
  return [name, expiresAt === null ? 'Never' : <Time key="ends" at={expiresAt} />];
}
