import { Button, Group, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useWrite } from '../api/use-write.ts';
import { Problem } from '../shown/problem.tsx';
import { sayDone } from '../shown/say.ts';
import { Section } from '../shown/section.tsx';
import { nameLengthMax, refuseName } from '../sign-in/account-form.tsx';
import { rename } from './account.ts';

export function NameForm({ name: before }: { name: string }) {
  const [name, setName] = useState(before);
  const [tried, setTried] = useState(false);
  const renaming = useWrite(rename, ['/session']);
  const refusal = refuseName(name);

  function save(): void {
    setTried(true);
    if (refusal === null)
      renaming.mutate(name.trim(), { onSuccess: () => sayDone('Your name is changed.') });
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
          <TextInput
            aria-label="Name"
            flex="1 1 14rem"
            maw={400}
            autoComplete="name"
            maxLength={nameLengthMax}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            error={tried && refusal}
          />
          <Button type="submit" variant="default" loading={renaming.isPending}>
            Change name
          </Button>
        </Group>
      </form>
      {renaming.isError && <Problem error={renaming.error} />}
    </Section>
  );
}
