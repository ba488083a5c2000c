import { Radio, Stack } from '@mantine/core';
import { useState } from 'react';
import { overlapSecondsDefault, overlapSecondsMax } from '../../../service/src/contract/periods.ts';
import { appChanges, useWrite } from '../api/use-write.ts';
import { Confirm, type ConfirmProps } from './confirm.tsx';

const overlaps = [
  { value: '0', label: 'Expires immediately' },
  { value: '3600', label: '1 hour' },
  { value: String(overlapSecondsDefault), label: '24 hours' },
  { value: String(overlapSecondsMax), label: '7 days' },
];

type Props<Rotated> = Pick<ConfirmProps, 'button' | 'title' | 'action' | 'children'> & {
  rotate: (overlapSeconds: number) => Promise<Rotated>;
  /** Shows the new one, whose heading takes the focus. */
  done: (rotated: Rotated) => void;
  thing: 'key' | 'secret';
  /** The effect of an immediate expiry. */
  warning: string;
};

/** Replaces a key or a secret. The old one stays valid for the chosen time. */
export function Rotate<Rotated>({
  rotate,
  done,
  thing,
  warning,
  children,
  ...question
}: Props<Rotated>) {
  const [overlap, setOverlap] = useState(String(overlapSecondsDefault));
  // The old one may be gone from the list after the reads, and this component with it.
  const write = useWrite(() => rotate(Number(overlap)), appChanges, { done, waits: false });
  return (
    <Confirm
      {...question}
      color="brand"
      // Each opening starts with the default.
      write={{
        ...write,
        reset: () => {
          write.reset();
          setOverlap(String(overlapSecondsDefault));
        },
      }}
    >
      {children}
      <Radio.Group
        label={`How long the old ${thing} stays valid`}
        value={overlap}
        onChange={setOverlap}
      >
        <Stack gap="xs" mt="xs">
          {overlaps.map(({ value, label }) => (
            <Radio
              key={value}
              value={value}
              label={label}
              description={value === '0' && warning}
              data-autofocus={value === overlap || undefined}
            />
          ))}
        </Stack>
      </Radio.Group>
    </Confirm>
  );
}
