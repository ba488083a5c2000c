import { Code, Group, Image, Stack, Text } from '@mantine/core';
import { renderSVG } from 'uqr';
import { confirmAuthenticator, setUpAuthenticator } from '../api/operations.ts';
import type { NewAuthenticator } from '../api/types.ts';
import { useWrite } from '../api/use-write.ts';
import { BusyButton } from '../ui/busy-button.tsx';
import { CopyButton } from '../ui/copy-button.tsx';
import { Form } from '../ui/form.tsx';
import { Problem } from '../ui/problem.tsx';
import { useWriteForm } from '../ui/use-write-form.ts';
import type { Added } from './add-passkey.tsx';
import { CodeField, codeForm } from './code-field.tsx';

/** Shows the secret for an authenticator app, and asks for its first code. */
export function AddAuthenticator({ added }: { added: Added }) {
  const setUp = useWrite(() => setUpAuthenticator(), []);
  if (setUp.data) return <ConfirmAuthenticator made={setUp.data} added={added} />;
  return (
    <Stack align="flex-start">
      <BusyButton variant="default" busy={setUp.isPending} onClick={() => setUp.mutate(undefined)}>
        Add an authenticator app
      </BusyButton>
      {setUp.isError && <Problem error={setUp.error} />}
    </Stack>
  );
}

function ConfirmAuthenticator({ made, added }: { made: NewAuthenticator; added: Added }) {
  const write = useWrite(confirmAuthenticator, ['/account'], { done: added });
  const { form, formProps } = useWriteForm(write, codeForm);
  const { secret, uri } = made;
  return (
    <Form {...formProps} action="Confirm the code" maw={480}>
      <Text size="sm">
        Scan this code with an authenticator app, or enter the key by hand. Then enter the code that
        the app shows.
      </Text>
      <Image
        src={`data:image/svg+xml,${encodeURIComponent(renderSVG(uri, { border: 2 }))}`}
        alt="QR code with the key"
        w={200}
        h={200}
      />
      <Group gap="xs">
        <Code fz="sm" data-testid="authenticator-key">
          {secret.replaceAll(/(.{4})(?=.)/g, '$1 ')}
        </Code>
        <CopyButton value={secret} label="Copy the key" />
      </Group>
      <CodeField
        label="Code from the app"
        inputMode="numeric"
        autoFocus
        {...form.getInputProps('code')}
      />
    </Form>
  );
}
