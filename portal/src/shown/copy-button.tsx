import { Button, VisuallyHidden, type ButtonProps } from '@mantine/core';
import { useClipboard } from '@mantine/hooks';
import { Check, Copy } from 'lucide-react';

/** Copies a text, and says so to everybody: the words of the button change, and are announced. */
export function CopyButton({
  value,
  label,
  ...props
}: { value: string; label: string } & Omit<ButtonProps, 'value'>) {
  const clipboard = useClipboard({ timeout: 3_000 });
  const words = clipboard.error
    ? 'Not copied: select the text instead'
    : clipboard.copied
      ? 'Copied'
      : label;
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
      >
        {words}
      </Button>
      <VisuallyHidden role="status">{clipboard.copied ? 'Copied' : ''}</VisuallyHidden>
    </>
  );
}
