import { Button, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import type { AccountMethod } from '../api/types.ts';
import { Time } from '../ui/time.tsx';
import { methodName } from './method-name.ts';
import { RemoveMethod } from './remove-method.tsx';

/** Lists ways to sign in. Each has a button that removes it, except the last one. */
export function MethodList({
  methods,
  isLast = () => false,
  removed,
}: {
  methods: AccountMethod[];
  isLast?: (method: AccountMethod) => boolean;
  removed: () => void;
}) {
  const [asked, setAsked] = useState<AccountMethod | null>(null);
  return (
    <>
      <Stack component="ul" gap="sm" m={0} p={0} style={{ listStyle: 'none' }}>
        {methods.map((method) => (
          <MethodEntry
            key={method.id}
            method={method}
            {...(!isLast(method) && { remove: () => setAsked(method) })}
          />
        ))}
      </Stack>
      <RemoveMethod method={asked} close={() => setAsked(null)} removed={removed} />
    </>
  );
}

function MethodEntry({ method, remove }: { method: AccountMethod; remove?: () => void }) {
  const name = methodName(method.provider);
  return (
    <Group component="li" justify="space-between" gap="sm">
      <Stack gap={0}>
        <Text fw={600}>{name}</Text>
        <Text size="sm" c="dimmed">
          Added <Time at={method.createdAt} />
          {!remove && '. Your only way to sign in, so it cannot be removed.'}
        </Text>
      </Stack>
      {remove && (
        <Button size="xs" variant="default" onClick={remove} aria-label={`Remove ${name}`}>
          Remove
        </Button>
      )}
    </Group>
  );
}
