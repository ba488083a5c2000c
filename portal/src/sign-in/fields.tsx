/** The fields of an account's forms, with their checks. */
import {
  PasswordInput,
  TextInput,
  type PasswordInputProps,
  type TextInputProps,
} from '@mantine/core';
import { pageData } from '../page-data.ts';

const password = pageData.signInOptions.password;
/** The limit of the service. */
const nameLengthMax = 100;
/** RFC 5321: no address is longer. */
const addressLengthMax = 254;

export function NameField(props: TextInputProps) {
  return <TextInput label="Name" autoComplete="name" maxLength={nameLengthMax} {...props} />;
}

export function validateName(name: string): string | null {
  return name.trim() === '' ? 'Enter a name' : null;
}

export function AddressField(props: TextInputProps) {
  return (
    <TextInput
      label="Email address"
      type="email"
      autoComplete="username"
      maxLength={addressLengthMax}
      {...props}
    />
  );
}

export function validateAddress(email: string): string | null {
  return /^[^\s@]+@[^\s@]+$/.test(email.trim())
    ? null
    : 'Enter an email address, such as ada@example.org';
}

/** A password field whose visibility button is reachable by keyboard and has a label. */
export function PasswordField(props: PasswordInputProps & { label: string }) {
  return (
    <PasswordInput
      autoComplete="current-password"
      maxLength={password.lengthMax}
      {...props}
      visibilityToggleButtonProps={{ 'aria-label': `Show: ${props.label}`, tabIndex: 0 }}
    />
  );
}

export function NewPasswordField(props: PasswordInputProps & { label: string }) {
  return (
    <PasswordField
      autoComplete="new-password"
      description={`At least ${password.lengthMin} characters`}
      {...props}
    />
  );
}

export function validateNewPassword(chosen: string): string | null {
  return chosen.length < password.lengthMin
    ? `Use at least ${password.lengthMin} characters`
    : null;
}
