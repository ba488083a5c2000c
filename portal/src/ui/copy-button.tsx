import { ActionIcon, VisuallyHidden } from '@mantine/core';
import { useClipboard } from '@mantine/hooks';
import { Check, CircleX, Copy } from './icons.tsx';

type Props = {
  value: string;
  /** Says what is copied, for screen readers and as a tooltip. */
  label: string;
};

/** Copies a text. The icon and the label change to the result, and screen readers announce it. */
export function CopyButton({ value, label }: Props) {
  const { copied, error, copy } = useClipboard({ timeout: 3_000 });
  const done = copied ? 'Copied' : '';
  const outcome = error ? 'Not copied: select the text instead' : done;
  const whenCopied = copied ? Check : Copy;
  const Icon = error ? CircleX : whenCopied;
  return (
    <>
      <ActionIcon
        variant="subtle"
        color="gray"
        size="sm"
        onClick={() => copy(value)}
        title={outcome || label}
        aria-label={outcome || label}
      >
        <Icon size={14} aria-hidden />
      </ActionIcon>
      <VisuallyHidden role="status">{outcome}</VisuallyHidden>
    </>
  );
}
