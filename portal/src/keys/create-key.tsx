import { Group, NativeSelect, TextInput } from '@mantine/core';
import { createKey } from '../api/operations.ts';
import type { CreatedKey, NewKey } from '../api/types.ts';
import { useOnce } from '../api/use-once.ts';
import { appChanges, useWrite } from '../api/use-write.ts';
import { NameField, validateName } from '../sign-in/fields.tsx';
import { Fold } from '../ui/fold.tsx';
import { Form } from '../ui/form.tsx';
import { useTimes } from '../ui/times.tsx';
import { Section } from '../ui/section.tsx';
import { useWriteForm } from '../ui/use-write-form.ts';
import { expiryChoices, readExpiry, today } from './expiry.ts';
import { ScopeChoice } from './scope-choice.tsx';
import { describeScopes, scopes, type Scope } from './scopes.ts';

/** `expiresAt` is the chosen day. */
type Fields = { name: string; scopes: Scope[]; expiry: string; expiresAt: string };

/** One click creates this key, which can do everything in the quick start. */
const initialValues: Fields = {
  name: 'API key',
  scopes,
  expiry: 'never',
  expiresAt: '',
};

type Props = {
  appId: string;
  done: (created: CreatedKey) => void;
};

export function CreateKey({ appId, done }: Props) {
  const times = useTimes();
  const once = useOnce(
    (body: NewKey, idempotencyKey) => createKey(appId, body, idempotencyKey),
    ({ expiry, expiresAt, ...chosen }: Fields) => ({
      ...chosen,
      expiresAt: readExpiry(expiry, expiresAt, times) ?? null,
    }),
  );
  const write = useWrite(once, appChanges, { done, waits: false });
  const { form, formProps } = useWriteForm(write, {
    initialValues,
    validate: {
      name: validateName,
      scopes: (chosen) => (chosen.length === 0 ? 'Choose at least one.' : null),
      expiresAt: (day, { expiry }) =>
        readExpiry(expiry, day, times) === undefined ? 'Choose today or a later day.' : null,
    },
  });
  return (
    <Section title="New key">
      <Form {...formProps} action="Create key">
        <NameField
          description="For example, where it is used. Shown in your lists and in the audit log."
          maw="30rem"
          autoComplete="off"
          required
          {...form.getInputProps('name')}
        />
        <Fold title="Scopes and expiry" summary={describeChoice(form.values)}>
          <ScopeChoice {...form.getInputProps('scopes')} />
          <Group align="flex-start">
            <NativeSelect label="Expires" data={expiryChoices} {...form.getInputProps('expiry')} />
            {form.values.expiry === 'day' && (
              <TextInput
                type="date"
                label="Last day"
                description={`The key expires at the end of this day, ${times.isUtc ? 'in UTC' : 'in your time zone'}.`}
                min={today(times)}
                required
                {...form.getInputProps('expiresAt')}
              />
            )}
          </Group>
        </Fold>
      </Form>
    </Section>
  );
}

function describeChoice({ scopes: chosen, expiry }: Fields): string {
  const expires = expiryChoices.find(({ value }) => value === expiry)?.label ?? '';
  return `${describeScopes(chosen) || 'No scopes'}. Expires: ${expires.toLowerCase()}.`;
}
