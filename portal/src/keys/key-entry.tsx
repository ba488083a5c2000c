import { Badge, Code, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { useRef } from 'react';
import { rotateKey } from '../api/operations.ts';
import { useOnce } from '../api/use-once.ts';
import type { PortalKey } from '../api/types.ts';
import { DescriptionList, type Term } from '../ui/description-list.tsx';
import { moveFocusAfterWait } from '../ui/move-focus.ts';
import { Rotate } from '../ui/rotate.tsx';
import { Time } from '../ui/time.tsx';
import { keyState, nameOfKey, type KeyState } from './key-state.ts';
import type { IssuedKey } from './new-key.tsx';
import { RevokeKey } from './revoke-key.tsx';
import { describeScopes } from './scopes.ts';

const badges: Record<KeyState, { label: string; color: string }> = {
  valid: { label: 'Valid', color: 'green.9' },
  'expires soon': { label: 'Expires soon', color: 'orange.9' },
  expired: { label: 'Expired', color: 'gray.7' },
  revoked: { label: 'Revoked', color: 'gray.7' },
  suspended: { label: 'Suspended', color: 'red.9' },
};

type Props = {
  appId: string;
  apiKey: PortalKey;
  /** Shows the new key after a rotation. */
  show: (key: IssuedKey) => void;
};

export function KeyEntry({ mayChange, ...props }: Props & { mayChange: boolean }) {
  const { appId, apiKey } = props;
  const heading = useRef<HTMLHeadingElement>(null);
  const state = keyState(apiKey, Date.now());
  const { label, color } = badges[state];
  const hasEnded = state === 'expired' || state === 'revoked';
  return (
    <Paper component="li" withBorder p={{ base: 'sm', sm: 'md' }}>
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
              <bdi>{apiKey.name}</bdi>
            </Title>
            <Badge color={color}>{label}</Badge>
            <Code>odk_…{apiKey.last4}</Code>
          </Group>
          <Text size="sm">{describeScopes(apiKey.scopes)}</Text>
          <DescriptionList entries={factsOf(apiKey, state)} layout="line" />
        </Stack>
        {mayChange && !hasEnded && (
          <Group gap="xs">
            {state !== 'suspended' && <RotateKey {...props} />}
            <RevokeKey
              appId={appId}
              apiKey={apiKey}
              done={() => moveFocusAfterWait(heading.current)}
            />
          </Group>
        )}
      </Group>
    </Paper>
  );
}

function RotateKey({ appId, apiKey, show }: Props) {
  const name = nameOfKey(apiKey);
  const rotate = useOnce((overlapSeconds: number, idempotencyKey) =>
    rotateKey(appId, apiKey.id, overlapSeconds, idempotencyKey),
  );
  return (
    <Rotate
      button={{ children: 'Rotate', size: 'xs', 'aria-label': `Rotate ${name}` }}
      title={`Rotate ${name}`}
      action="Rotate key"
      rotate={rotate}
      done={show}
      thing="key"
      warning="For a key that may have leaked. Programs that use it are refused."
    >
      <Text size="sm">You get a new key with the same name, scopes and expiry.</Text>
    </Rotate>
  );
}

function factsOf(key: PortalKey, state: KeyState): Term[] {
  return [
    ['Created', <Time key="created" at={key.createdAt} />],
    ['Last used', key.lastUsedAt ? <Time key="used" at={key.lastUsedAt} /> : 'Never'],
    ['Requests today', key.usesToday.toLocaleString()],
    endOf(key, state),
    ...(key.suspendedReason === null ? [] : [['Suspended', key.suspendedReason] as Term]),
  ];
}

function endOf({ revokedAt, expiresAt }: PortalKey, state: KeyState): Term {
  if (revokedAt !== null) return ['Revoked', <Time key="revoked" at={revokedAt} />];
  const name = state === 'expired' ? 'Expired' : 'Expires';
  return [name, expiresAt === null ? 'Never' : <Time key="ends" at={expiresAt} />];
}
