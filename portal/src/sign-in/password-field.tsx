import { PasswordInput, type PasswordInputProps } from '@mantine/core';
import { pageData } from '../page-data.ts';

const { lengthMin, lengthMax } = pageData.signInOptions.password;

/** A password field whose visibility button is reachable by keyboard and has a label. */
export function PasswordField(props: PasswordInputProps & { label: string }) {
  return (
    <PasswordInput
      maxLength={lengthMax}
      {...props}
      visibilityToggleButtonProps={{ 'aria-label': `Show: ${props.label}`, tabIndex: 0 }}
    />
  );
}

/** A field for choosing a new password. */
export function NewPasswordField(props: PasswordInputProps & { label: string }) {
  return (
    <PasswordField
      autoComplete="new-password"
      description={`At least ${lengthMin} characters`}
      {...props}
    />
  );
}

export function refuseNewPassword(password: string): string | null {
  return password.length < lengthMin ? `Use at least ${lengthMin} characters` : null;
}
