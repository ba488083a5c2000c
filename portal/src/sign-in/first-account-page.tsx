import { Bare } from '../layout/bare.tsx';

export function FirstAccountPage() {
  return <Bare title="First account">{null}</Bare>;
}
