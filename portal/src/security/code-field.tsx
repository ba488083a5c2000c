import { TextInput, type TextInputProps } from '@mantine/core';

export function CodeField(props: TextInputProps & { 'data-autofocus'?: boolean }) {
  return <TextInput autoComplete="one-time-code" maxLength={40} {...props} />;
}

export const codeForm = {
  initialValues: { code: '' },
  validate: { code: (code: string) => (code.trim() === '' ? 'Enter the code' : null) },
};
