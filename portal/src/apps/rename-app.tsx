import { Group, Stack } from '@mantine/core';
import { useState } from 'react';
import { updateApp } from '../api/operations.ts';
import type { PortalApp } from '../api/types.ts';
import { useWrite } from '../api/use-write.ts';
import { toastSuccess } from '../ui/toast.ts';
import { Section } from '../ui/section.tsx';
import { AppNameField } from './app-name-field.tsx';
import { BusyButton } from '../ui/busy-button.tsx';

export function RenameApp({ app }: { app: PortalApp }) {
  // Null until somebody types: the field then follows the app's name, even if it changes elsewhere.
  const [draft, setDraft] = useState<string | null>(null);
  const write = useWrite(
    (name: string) => updateApp(app.id, { name }),
    ['/apps', '/overview', '/audit'],
  );
  const save = () =>
    write.mutate(draft ?? app.name, {
      onSuccess: ({ name }) => {
        setDraft(null);
        toastSuccess(`App renamed to ${name}.`);
      },
    });
  return (
    <Section title="Rename this app">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          save();
        }}
      >
        <Stack maw="30rem">
          <AppNameField
            name={draft ?? app.name}
            setName={setDraft}
            error={write.error}
            description="Only you see it."
          />
          <Group>
            <BusyButton type="submit" variant="default" busy={write.isPending}>
              Save name
            </BusyButton>
          </Group>
        </Stack>
      </form>
    </Section>
  );
}
