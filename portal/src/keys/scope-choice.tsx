import { Checkbox, Stack } from '@mantine/core';
import type { ReactNode } from 'react';
import { scopes, scopeWords, type Scope } from './scope-words.ts';

/** What a new key may do: a box for each scope, with what it is good for. */
export function ScopeChoice(props: {
  value?: Scope[];
  onChange: (chosen: Scope[]) => void;
  error?: ReactNode;
}) {
  return (
    <Checkbox.Group
      label="Scopes"
      description="Choose only what the program needs: anyone with the key can do this."
      required
      {...props}
    >
      <Stack gap="sm" mt="xs">
        {scopes.map((scope) => (
          <Checkbox
            key={scope}
            value={scope}
            label={scopeWords[scope].title}
            description={`${scopeWords[scope].lets} (${scope})`}
          />
        ))}
      </Stack>
    </Checkbox.Group>
  );
}
