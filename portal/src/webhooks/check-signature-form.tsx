import { Alert, Text, Textarea, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Form } from '../ui/form.tsx';
import { useWriteForm } from '../ui/use-write-form.ts';
import { checkSignature, type PastedDelivery, type SignatureCheck } from './check-signature.ts';

const colors: Record<SignatureCheck['verdict'], string> = {
  genuine: 'green',
  'signed but not fresh': 'orange',
  refused: 'red',
};

const field = {
  required: true,
  // The spell checkers of some browsers send typed text to their vendors.
  spellCheck: false,
  autoComplete: 'off',
  autoCapitalize: 'off',
} as const;

/** The length is far above any delivery: the service limits bodies to 64 KiB. */
const textarea = { ...field, autosize: true, minRows: 3, maxRows: 10, maxLength: 1_000_000 };

export default function CheckSignatureForm() {
  const check = useMutation({ mutationFn: (pasted: PastedDelivery) => checkSignature(pasted) });
  const { form, formProps } = useWriteForm(check, {
    initialValues: { headers: '', body: '', secret: '' },
    onValuesChange: check.reset,
    validate: {
      headers: required('Paste the headers.'),
      body: required('Paste the body.'),
      secret: required('Paste the secret.'),
    },
  });
  return (
    <Form {...formProps} action="Check the signature" maw={640}>
      <Textarea
        label="Headers"
        description="One per line. webhook-id, webhook-timestamp and webhook-signature are required; others help to explain the result."
        placeholder={'webhook-id: …\nwebhook-timestamp: …\nwebhook-signature: v1,…'}
        {...textarea}
        {...form.getInputProps('headers')}
      />
      <Textarea
        label="Body"
        description="Exactly as received."
        {...textarea}
        {...form.getInputProps('body')}
      />
      <TextInput
        label="Secret"
        description="It starts with whsec_."
        maxLength={200}
        {...field}
        {...form.getInputProps('secret')}
      />
      <div role="status">{check.data && <Result check={check.data} />}</div>
    </Form>
  );
}

function Result({ check: { verdict, title, explanation } }: { check: SignatureCheck }) {
  return (
    <Alert color={colors[verdict]} title={title} role="group">
      <Text size="sm">{explanation}</Text>
    </Alert>
  );
}

function required(message: string) {
  return (value: string) => (value.trim() === '' ? message : null);
}
