import { TextInput, type TextInputProps } from '@mantine/core';

/** RFC 5321: no address is longer. */
const lengthMax = 254;

export function AddressField(props: TextInputProps) {
  return (
    <TextInput
      label="Email address"
      type="email"
      autoComplete="username"
      maxLength={lengthMax}
      {...props}
    />
  );
}

export function refuseAddress(email: string): string | null {
  return /^[^\s@]+@[^\s@]+$/.test(email.trim())
    ? null
    : 'Enter an email address, such as ada@example.org';
}
