import { Group, NativeSelect, TextInput } from '@mantine/core';
import { createKey } from '../api/operations.ts';
import type { CreatedKey } from '../api/types.ts';
import { appChanges, useWrite } from '../api/use-write.ts';
import { NameField, validateName } from '../sign-in/fields.tsx';
import { Form } from '../ui/form.tsx';
import { Section } from '../ui/section.tsx';
import { useWriteForm } from '../ui/use-write-form.ts';
import { expiryChoices, readExpiry, today } from './expiry.ts';
import { ScopeChoice } from './scope-choice.tsx';
import type { Scope } from './scopes.ts';

/** `expiresAt` is the chosen day. */
type Fields = { name: string; scopes: Scope[]; expiry: string; expiresAt: string };

type Props = { appId: string; done: (created: CreatedKey) => void; cancel: () => void };

export function CreateKey({ appId, done, cancel }: Props) {
  const write = useWrite(
    ({ name, scopes, expiry, expiresAt }: Fields) =>
      createKey(appId, { name, scopes, expiresAt: readExpiry(expiry, expiresAt) ?? null }),
    appChanges,
    { done, waits: false },
  );
  const { form, formProps } = useWriteForm(write, {
    initialValues: { name: '', scopes: ['read:directory'], expiry: 'never', expiresAt: '' },
    validate: {
      name: validateName,
      scopes: (scopes) => (scopes.length === 0 ? 'Choose at least one.' : null),
      expiresAt: (day, { expiry }) =>
        readExpiry(expiry, day) === undefined ? 'Choose today or a later day.' : null,
    },
  });
  return (
    <Section title="New key">
      <Form {...formProps} action="Create key" cancel={cancel}>
        <NameField
          description="For example, where it is used. Shown in your lists and in the audit log."
          maw="30rem"
          autoComplete="off"
          autoFocus
          required
          {...form.getInputProps('name')}
        />
        <ScopeChoice {...form.getInputProps('scopes')} />
        <Group align="flex-start">
          <NativeSelect label="Expires" data={expiryChoices} {...form.getInputProps('expiry')} />
          {form.values.expiry === 'day' && (
            <TextInput
              type="date"
              label="Last day"
              description="The key expires at the end of this day, in your time zone."
              min={today()}
              required
              {...form.getInputProps('expiresAt')}
            />
          )}
        </Group>
      </Form>
    </Section>
  );
}
