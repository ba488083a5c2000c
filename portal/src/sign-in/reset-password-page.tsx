import { Bare } from '../layout/bare.tsx';

export function ResetPasswordPage() {
  return <Bare title="New password">{null}</Bare>;
}
