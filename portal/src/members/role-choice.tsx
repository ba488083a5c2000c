import { Radio, Stack } from '@mantine/core';
import type { ReactNode } from 'react';
import { appRoles, type AppRole } from '../../../service/src/contract/app-roles.ts';
import { capitalise } from '../ui/capitalise.ts';

export const roleTexts: Record<AppRole, string> = {
  viewer: 'Reads the app, except secrets, responses and the bodies of internal events.',
  developer: 'Manages keys and webhooks, and reads all deliveries.',
  owner: 'Can do everything, such as managing members and binding the app.',
};

type Props = { value?: AppRole; onChange: (role: AppRole) => void; error?: ReactNode };

export function RoleChoice(props: Props) {
  return (
    <Radio.Group label="Role" {...props}>
      <Stack gap="xs" mt="xs">
        {appRoles.map((role) => (
          <Radio
            key={role}
            value={role}
            label={capitalise(role)}
            description={roleTexts[role]}
            data-autofocus={role === props.value || undefined}
          />
        ))}
      </Stack>
    </Radio.Group>
  );
}
