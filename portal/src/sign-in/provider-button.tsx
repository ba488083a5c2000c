import { Button, type ButtonProps } from '@mantine/core';

/** The operator chooses a provider's name, of any length: a long one wraps. */
export function ProviderButton(
  props: ButtonProps & { onClick: () => void; children: (string | undefined)[] },
) {
  return (
    <Button
      variant="default"
      h="auto"
      mih={36}
      py={6}
      styles={{ label: { whiteSpace: 'normal' } }}
      {...props}
    />
  );
}
