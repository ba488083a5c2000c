import { Checkbox, Stack } from '@mantine/core';
import type { ReactNode } from 'react';
import { scopes, scopeTexts, type Scope } from './scopes.ts';

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
            label={scopeTexts[scope].title}
            description={`${scopeTexts[scope].description} (${scope})`}
          />
        ))}
      </Stack>
    </Checkbox.Group>
  );
}
