import { TextInput, type TextInputProps } from '@mantine/core';

/** The limit of the service. */
const lengthMax = 100;

export function NameField(props: TextInputProps) {
  return <TextInput label="Name" autoComplete="name" maxLength={lengthMax} {...props} />;
}

export function refuseName(name: string): string | null {
  return name.trim() === '' ? 'Enter a name' : null;
}
