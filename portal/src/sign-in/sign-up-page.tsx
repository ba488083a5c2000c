import { Bare } from '../layout/bare.tsx';

export function SignUpPage() {
  return <Bare title="Sign up">{null}</Bare>;
}
