import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useEffect, useState, useSyncExternalStore, type ReactNode } from 'react';
import { answerProof, isAskingForProof, subscribeToProof } from '../api/ask-for-proof.ts';
import {
  mailProofCode,
  proofMethods,
  proofPasskeyOptions,
  proveWithAuthenticator,
  proveWithMailedCode,
  proveWithPasskey,
  proveWithPassword,
} from '../api/operations.ts';
import type { ProofMethods } from '../api/types.ts';
import { useSession } from '../session/use-session.ts';
import { PasswordField } from '../sign-in/fields.tsx';
import { Form } from '../ui/form.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { awaitFocus } from '../ui/move-focus.ts';
import { useWriteForm } from '../ui/use-write-form.ts';
import { CodeField, codeForm } from './code-field.tsx';
import { canUsePasskeys, getPasskey } from './passkey-device.ts';

type Method = ProofMethods['methods'][number];
const done = {
  onSuccess: () => {
    // The request goes on.
    awaitFocus();
    answerProof(true);
  },
};
const cancel = () => answerProof(false);

/** The one dialog in which users confirm that it is them. The request that needed it continues afterwards. */
export function ProofDialog() {
  const isAsking = useSyncExternalStore(subscribeToProof, isAskingForProof);
  return (
    // Above the dialog that sent the request, which hears the same Escape: it stays, because the request is still running then.
    <Modal
      opened={isAsking}
      onClose={() => setTimeout(cancel)}
      title="Confirm that it is you"
      zIndex={300}
    >
      <Methods />
    </Modal>
  );
}

function Methods() {
  const query = useQuery(proofMethods());
  const { data: session } = useSession();
  const asked = `${session?.user.id} ${session?.missingFactor} ${session?.hasEnded}`;
  // Nobody else can confirm it, nor a session that has ended.
  useEffect(() => cancel, [asked]);
  return (
    <Loaded query={query}>
      {({ methods }) => (
        <ChosenMethod methods={methods.filter((each) => each !== 'passkey' || canUsePasskeys)} />
      )}
    </Loaded>
  );
}

const names: Record<Method, string> = {
  passkey: 'a passkey',
  authenticator: 'your authenticator app',
  password: 'your password',
  mail: 'a code by mail',
};

function ChosenMethod({ methods }: { methods: Method[] }) {
  const [chosen, setChosen] = useState(methods[0]);
  if (chosen === undefined) return <NoMethod />;
  const Chosen = forms[chosen];
  return (
    <Stack>
      <Text size="sm">
        You confirmed it more than half an hour ago. Do it again to make this change.
      </Text>
      <Chosen key={chosen} />
      <Group gap="xs">
        {methods
          .filter((each) => each !== chosen)
          .map((each) => (
            <Button key={each} variant="subtle" size="compact-sm" onClick={() => setChosen(each)}>
              Use {names[each]}
            </Button>
          ))}
      </Group>
    </Stack>
  );
}

function NoMethod() {
  return (
    <Text size="sm">
      You signed in more than half an hour ago. Sign out and in again to make this change.
    </Text>
  );
}

function WithPasskey() {
  const write = useMutation({
    mutationFn: async () => proveWithPasskey(await getPasskey(await proofPasskeyOptions())),
    ...done,
  });
  return (
    <Form
      write={write}
      action="Use a passkey"
      layout="dialog"
      submit={() => write.mutate()}
      cancel={cancel}
    >
      <Text size="sm">Your browser asks for your fingerprint, face or PIN.</Text>
    </Form>
  );
}

function WithPassword() {
  const { data: session } = useSession();
  const write = useMutation({ mutationFn: proveWithPassword, ...done });
  const { form, formProps } = useWriteForm(write, {
    initialValues: { password: '' },
    validate: { password: (password) => (password === '' ? 'Enter your password' : null) },
  });
  return (
    <Form {...formProps} action="Confirm" layout="dialog" cancel={cancel}>
      {/* Password managers find the password by it. */}
      <input
        type="text"
        autoComplete="username"
        value={session?.user.email ?? ''}
        readOnly
        hidden
      />
      <PasswordField label="Password" data-autofocus {...form.getInputProps('password')} />
    </Form>
  );
}

function WithAuthenticator() {
  const write = useMutation({ mutationFn: proveWithAuthenticator, ...done });
  const { form, formProps } = useWriteForm(write, codeForm);
  return (
    <Form {...formProps} action="Confirm" layout="dialog" cancel={cancel}>
      <CodeField
        label="Code from your authenticator app"
        data-autofocus
        {...form.getInputProps('code')}
      />
    </Form>
  );
}

function WithMailedCode() {
  const mail = useMutation({ mutationFn: mailProofCode });
  const write = useMutation({ mutationFn: proveWithMailedCode, ...done });
  const { form, formProps } = useWriteForm(write, codeForm);
  if (!mail.isSuccess)
    return (
      <Form
        write={mail}
        action="Send a code"
        layout="dialog"
        submit={() => mail.mutate()}
        cancel={cancel}
      >
        <Text size="sm">The code goes to your email address.</Text>
      </Form>
    );
  return (
    <Form {...formProps} action="Confirm" layout="dialog" cancel={cancel}>
      <CodeField label="Code from the mail" autoFocus {...form.getInputProps('code')} />
    </Form>
  );
}

const forms: Record<Method, () => ReactNode> = {
  passkey: WithPasskey,
  authenticator: WithAuthenticator,
  password: WithPassword,
  mail: WithMailedCode,
};
