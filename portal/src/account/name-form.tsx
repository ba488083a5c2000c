import { Group } from '@mantine/core';
import { useState } from 'react';
import { updateAccount } from '../api/operations.ts';
import { useWrite } from '../api/use-write.ts';
import { Problem } from '../ui/problem.tsx';
import { toastSuccess } from '../ui/toast.ts';
import { Section } from '../ui/section.tsx';
import { NameField, refuseName } from '../sign-in/name-field.tsx';
import { BusyButton } from '../ui/busy-button.tsx';

export function NameForm({ name: before }: { name: string }) {
  const [name, setName] = useState(before);
  const [tried, setTried] = useState(false);
  const renaming = useWrite(updateAccount, ['/session', '/account']);
  const refusal = refuseName(name);

  function save(): void {
    setTried(true);
    if (refusal === null)
      renaming.mutate({ name: name.trim() }, { onSuccess: () => toastSuccess('Name changed.') });
  }

  return (
    <Section title="Name">
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          save();
        }}
      >
        <Group align="flex-start" gap="sm">
          <NameField
            label={undefined}
            aria-label="Name"
            flex="1 1 14rem"
            maw={400}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            error={tried && refusal}
          />
          <BusyButton type="submit" variant="default" busy={renaming.isPending}>
            Change name
          </BusyButton>
        </Group>
      </form>
      {renaming.isError && <Problem error={renaming.error} />}
    </Section>
  );
}
