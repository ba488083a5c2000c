import { Button, VisuallyHidden, type ButtonProps } from '@mantine/core';
import { useClipboard } from '@mantine/hooks';
import { Check, Copy } from 'lucide-react';

/** Copies a text. The label changes to the result, and screen readers announce it. */
export function CopyButton({
  value,
  label,
  ...props
}: { value: string; label: string } & Omit<ButtonProps, 'value'>) {
  const clipboard = useClipboard({ timeout: 3_000 });
  const outcome = clipboard.error
    ? 'Not copied: select the text instead'
    : clipboard.copied
      ? 'Copied'
      : '';
  return (
    <>
      <Button
        size="xs"
        variant="default"
        leftSection={
          clipboard.copied ? <Check size={14} aria-hidden /> : <Copy size={14} aria-hidden />
        }
        onClick={() => clipboard.copy(value)}
        {...props}
        {...(outcome !== '' && { 'aria-label': outcome })}
      >
        {outcome || label}
      </Button>
      <VisuallyHidden role="status">{outcome}</VisuallyHidden>
    </>
  );
}
