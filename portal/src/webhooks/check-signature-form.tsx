import { Alert, Button, Group, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useState } from 'react';
import { focusFirstError } from '../ui/focus-first-error.ts';
import { checkSignature, type PastedDelivery, type SignatureCheck } from './check-signature.ts';

const colors: Record<SignatureCheck['verdict'], string> = {
  genuine: 'green',
  'signed but not fresh': 'orange',
  refused: 'red',
};

/** Far above any delivery: the service limits bodies to 64 KiB. */
const pastedLengthMax = 1_000_000;

/** The spell checkers of some browsers send typed text to their vendors. */
const field = { spellCheck: false, autoComplete: 'off', autoCapitalize: 'off' } as const;

export default function CheckSignatureForm() {
  const [check, setCheck] = useState<SignatureCheck | null>(null);
  const form = useForm<PastedDelivery>({
    mode: 'controlled',
    initialValues: { headers: '', body: '', secret: '' },
    onValuesChange: () => setCheck(null),
    validate: {
      headers: required('Paste the headers.'),
      body: required('Paste the body.'),
      secret: required('Paste the secret.'),
    },
  });

  return (
    <form
      noValidate
      onSubmit={form.onSubmit(
        async (pasted) => setCheck(await checkSignature(pasted)),
        focusFirstError(form),
      )}
    >
      <Stack maw={640}>
        <Textarea
          label="Headers"
          description="One per line. webhook-id, webhook-timestamp and webhook-signature are required; others help to explain the result."
          placeholder={'webhook-id: …\nwebhook-timestamp: …\nwebhook-signature: v1,…'}
          autosize
          minRows={3}
          maxRows={10}
          maxLength={pastedLengthMax}
          required
          {...field}
          {...form.getInputProps('headers')}
        />
        <Textarea
          label="Body"
          description="Exactly as received."
          autosize
          minRows={3}
          maxRows={10}
          maxLength={pastedLengthMax}
          required
          {...field}
          {...form.getInputProps('body')}
        />
        <TextInput
          label="Secret"
          description="It starts with whsec_."
          maxLength={200}
          required
          {...field}
          {...form.getInputProps('secret')}
        />
        <Group>
          <Button type="submit" variant="default">
            Check the signature
          </Button>
        </Group>
        <div role="status">{check && <Result check={check} />}</div>
      </Stack>
    </form>
  );
}

function Result({ check: { verdict, title, explanation } }: { check: SignatureCheck }) {
  return (
    <Alert color={colors[verdict]} variant="outline" title={title} role="group">
      <Text size="sm">{explanation}</Text>
    </Alert>
  );
}

function required(message: string) {
  return (value: string) => (value.trim() === '' ? message : null);
}
