import { Group, NativeSelect, Text } from '@mantine/core';
import { useState } from 'react';
import { transferApp } from '../api/operations.ts';
import type { AppMember, PortalApp } from '../api/types.ts';
import { appChanges, useWrite } from '../api/use-write.ts';
import { ConfirmAbout } from '../ui/confirm.tsx';
import { moveFocusAfterWait } from '../ui/move-focus.ts';
import { Section } from '../ui/section.tsx';
import { toastSuccess } from '../ui/toast.ts';
import { EndsWithOwnership } from './ends-with-ownership.tsx';

export function TransferApp({ app, members }: { app: PortalApp; members: AppMember[] }) {
  const you = members.find(({ isYou }) => isYou);
  const others = members.filter(({ isYou }) => !isYou);
  const [chosenId, setChosenId] = useState('');
  const next = others.find(({ id }) => id === chosenId) ?? others[0];
  const write = useWrite(({ id }: AppMember) => transferApp(app.id, { memberId: id }), appChanges, {
    done: () => {
      toastSuccess(`App ${app.name} transferred. You are now a developer of it.`);
      // This section is gone.
      moveFocusAfterWait();
    },
  });
  return (
    <Section
      title="Transfer this app"
      lead="Makes another member an owner, and you a developer. Keys and webhooks keep working."
    >
      {next ? (
        <Group align="flex-end" gap="sm">
          <NativeSelect
            label="New owner"
            value={next.id}
            onChange={({ currentTarget }) => setChosenId(currentTarget.value)}
            data={others.map(({ id, email }) => ({ value: id, label: email }))}
          />
          <ConfirmAbout
            button={{ children: 'Transfer app', variant: 'outline', color: 'red' }}
            about={next}
            ask={({ email }) => ({
              title: `Transfer ${app.name}`,
              action: 'Transfer app',
              children: (
                <>
                  <Text size="sm">
                    {email} becomes an owner, and you become a developer. You can't take the app
                    back yourself.
                  </Text>
                  {you && <EndsWithOwnership app={app} email={you.email} />}
                </>
              ),
            })}
            write={write}
          />
        </Group>
      ) : (
        <Text size="sm">You are the only member. Invite the new owner first.</Text>
      )}
    </Section>
  );
}
