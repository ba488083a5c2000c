import { Alert, Text } from '@mantine/core';
import { Time } from './time.tsx';

type Props = {
  /** What is suspended, as the title begins. */
  what: string;
  of: { suspendedAt: string | null; suspendedReason: string | null };
  /** What does not work meanwhile. */
  effect: string;
};

/** Says that the operator has suspended something, and why. Nothing otherwise. */
export function Suspension({ what, of: { suspendedAt, suspendedReason }, effect }: Props) {
  if (suspendedAt === null) return null;
  return (
    <Alert color="red" title={`${what} is suspended`}>
      <Text size="sm">
        The operator of this service suspended it <Time at={suspendedAt} exact />: {suspendedReason}
      </Text>
      <Text size="sm" mt="xs">
        {effect} If you think that this is wrong, contact the operator.
      </Text>
    </Alert>
  );
}
