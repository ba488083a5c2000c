import { Button, Group, NativeSelect, Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useEffect } from 'react';
import { createKey } from '../api/operations.ts';
import type { CreatedKey, NewKey } from '../api/types.ts';
import { useWrite } from '../api/use-write.ts';
import { describeError } from '../ui/describe-error.ts';
import { Problem } from '../ui/problem.tsx';
import { Section } from '../ui/section.tsx';
import { expiresAt, expiryChoices, today } from './expiry.ts';
import { ScopeChoice } from './scope-choice.tsx';
import type { Scope } from './scope-words.ts';
import { BusyButton } from '../ui/busy-button.tsx';

type Fields = { name: string; scopes: Scope[]; expiry: string; day: string };

const initialValues: Fields = { name: '', scopes: ['read:directory'], expiry: 'never', day: '' };
/** The limit of the service. */
const nameLengthMax = 100;

export function CreateKey({
  appId,
  done,
  cancel,
}: {
  appId: string;
  done: (created: CreatedKey) => void;
  cancel: () => void;
}) {
  const form = useForm<Fields>({ mode: 'controlled', initialValues, validate });
  const write = useWrite(
    // Shows the key without waiting for the list to reload.
    async (body: NewKey) => done(await createKey(appId, body)),
    ['/apps', '/overview', '/audit'],
  );
  useEffect(() => form.getInputNode('name')?.focus(), []);
  const create = ({ name, scopes, expiry, day }: Fields) => {
    const body = { name, scopes, expiresAt: expiresAt(expiry, day, Date.now()) ?? null };
    write.mutate(body, {
      onError: (error) => form.setErrors(errorsOf(describeError(error).fields)),
    });
  };
  const hasOtherError = write.error !== null && Object.keys(form.errors).length === 0;
  return (
    <Section title="New key">
      <form
        noValidate
        onSubmit={form.onSubmit(create, (errors) => focusFirst(form.getInputNode, errors))}
      >
        <Stack>
          <TextInput
            label="Name"
            description="For example, where it is used. Shown in your lists and in the audit log."
            maxLength={nameLengthMax}
            maw="30rem"
            autoComplete="off"
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
                min={today(Date.now())}
                required
                {...form.getInputProps('day')}
              />
            )}
          </Group>
          {hasOtherError && <Problem error={write.error} />}
          <Group>
            <BusyButton type="submit" busy={write.isPending}>
              Create key
            </BusyButton>
            <Button variant="default" onClick={cancel}>
              Cancel
            </Button>
          </Group>
        </Stack>
      </form>
    </Section>
  );
}

const validate = {
  name: (name: string) => (name.trim() === '' ? 'Enter a name.' : null),
  scopes: (scopes: Scope[]) => (scopes.length === 0 ? 'Choose at least one.' : null),
  day: (day: string, { expiry }: Fields) =>
    expiresAt(expiry, day, Date.now()) === undefined ? 'Choose today or a later day.' : null,
};

type Errors = Record<string, unknown>;

function focusFirst(nodeOf: (field: string) => HTMLElement | null, errors: Errors): void {
  const first = ['name', 'scopes', 'day'].find((field) => errors[field]);
  const node = first === undefined ? null : nodeOf(first);
  const control = node?.matches('input') ? node : node?.querySelector('input');
  control?.focus();
}

/** The API field is `expiresAt`; the form field is `day`. */
function errorsOf({ expiresAt: day, ...fields }: Record<string, string>): Record<string, string> {
  return { ...fields, ...(day !== undefined && { day }) };
}
