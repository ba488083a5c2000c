import { PasswordInput, type PasswordInputProps } from '@mantine/core';
import { pageData } from '../page-data.ts';

const { lengthMin, lengthMax } = pageData.signInOptions.password;

/** A password, which can be looked at by keyboard and by screen reader too. */
export function PasswordField(props: PasswordInputProps & { label: string }) {
  return (
    <PasswordInput
      maxLength={lengthMax}
      {...props}
      visibilityToggleButtonProps={{ 'aria-label': `Show: ${props.label}`, tabIndex: 0 }}
    />
  );
}

/** One that is chosen now. */
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
  return password.length < lengthMin ? `Choose at least ${lengthMin} characters` : null;
}
