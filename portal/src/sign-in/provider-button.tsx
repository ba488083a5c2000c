import { Button, type ButtonProps } from '@mantine/core';

/** The operator names a provider, at any length: its name takes several lines where there is little room. */
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
