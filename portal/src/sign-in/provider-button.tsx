import type { ButtonProps } from '@mantine/core';
import { BusyButton } from '../ui/busy-button.tsx';

/** The operator chooses a provider's name, of any length: a long one wraps. */
export function ProviderButton(props: ButtonProps & { busy: boolean; onClick: () => void }) {
  return (
    <BusyButton
      variant="default"
      h="auto"
      mih={36}
      py={6}
      styles={{ label: { whiteSpace: 'normal' } }}
      {...props}
    />
  );
}
