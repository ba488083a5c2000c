import { Bare } from '../layout/bare.tsx';

export function ForgotPasswordPage() {
  return <Bare title="Forgot your password?">{null}</Bare>;
}
