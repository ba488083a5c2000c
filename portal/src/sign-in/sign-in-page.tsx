import { Bare } from '../layout/bare.tsx';

export function SignInPage() {
  return <Bare title="Sign in">{null}</Bare>;
}
