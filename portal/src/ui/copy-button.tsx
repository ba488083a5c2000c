import { Button, VisuallyHidden, type ButtonProps } from '@mantine/core';
import { useClipboard } from '@mantine/hooks';
import { Check, Copy } from './icons.tsx';

type Props = { value: string; label: string } & Omit<ButtonProps, 'value'>;

/** Copies a text. The label changes to the result, and screen readers announce it. */
export function CopyButton({ value, label, ...props }: Props) {
  const { copied, error, copy } = useClipboard({ timeout: 3_000 });
  const done = copied ? 'Copied' : '';
  const outcome = error ? 'Not copied: select the text instead' : done;
  const Icon = copied ? Check : Copy;
  return (
    <>
      <Button
        size="xs"
        variant="default"
        leftSection={<Icon size={14} aria-hidden />}
        onClick={() => copy(value)}
        {...props}
        {...(outcome !== '' && { 'aria-label': outcome })}
      >
        {outcome || label}
      </Button>
      <VisuallyHidden role="status">{outcome}</VisuallyHidden>
    </>
  );
}
