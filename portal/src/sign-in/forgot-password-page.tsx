import { Anchor } from '@mantine/core';
import { Link } from 'react-router';
import { RequestLinkPage } from './request-link-page.tsx';

export function ForgotPasswordPage() {
  return (
    <RequestLinkPage
      title="Reset your password"
      lead="Enter your email address to get a link that sets a new password."
      below={
        <Anchor component={Link} to="/sign-in" inherit>
          Sign in
        </Anchor>
      }
    />
  );
}
