import { Text, TextInput } from '@mantine/core';
import { describeBrowser } from '../account/describe-browser.ts';
import { addPasskey, newPasskeyOptions } from '../api/operations.ts';
import type { AddedFactor } from '../api/types.ts';
import { useWrite } from '../api/use-write.ts';
import { Form } from '../ui/form.tsx';
import { useWriteForm } from '../ui/use-write-form.ts';
import { canUsePasskeys, createPasskey } from './passkey-device.ts';

export type Added = (factor: AddedFactor) => void;

/** Registers a passkey of this device. */
export function AddPasskey({ added }: { added: Added }) {
  const write = useWrite(
    async ({ name }: { name: string }) => {
      const credential = await createPasskey(await newPasskeyOptions());
      return addPasskey({ name: name.trim(), credential });
    },
    ['/account'],
    { done: added },
  );
  const { form, formProps } = useWriteForm(write, {
    initialValues: { name: describeBrowser(navigator.userAgent) },
    validate: { name: (name) => (name.trim() === '' ? 'Enter a name' : null) },
  });
  if (!canUsePasskeys)
    return (
      <Text size="sm">
        This browser has no passkeys, or not at this address: they need a host name and https.
      </Text>
    );
  return (
    <Form {...formProps} action="Add a passkey" maw={400}>
      <TextInput label="Name of the new passkey" maxLength={100} {...form.getInputProps('name')} />
    </Form>
  );
}
