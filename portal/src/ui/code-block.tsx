import { Box, Group, ScrollArea, Text } from '@mantine/core';
import { CopyButton } from './copy-button.tsx';
import { JsonText } from './json-text.tsx';
import classes from './code-block.module.css';

type Props = {
  label: string;
  text: string;
  /** What the button copies, if it is not the text. */
  copied?: string;
  /** In pixels. */
  maxHeight?: number;
  wrap?: boolean;
  isJson?: boolean;
};

/** Shows text with a copy button. It can be scrolled by keyboard. */
export function CodeBlock({
  label,
  text,
  copied = text,
  maxHeight = 400,
  wrap = false,
  isJson = false,
}: Props) {
  return (
    <Box className={classes['block'] ?? ''}>
      <Group justify="space-between" gap="xs" px="sm" py={6} className={classes['head'] ?? ''}>
        <Text size="sm" fw={600}>
          {label}
        </Text>
        <CopyButton value={copied} label={`Copy: ${label}`} />
      </Group>
      <ScrollArea.Autosize
        mah={maxHeight}
        type="auto"
        viewportProps={{ tabIndex: 0, role: 'region', 'aria-label': label }}
      >
        <pre className={wrap ? `${classes['text']} ${classes['wrap']}` : (classes['text'] ?? '')}>
          {isJson ? <JsonText text={text} /> : text}
        </pre>
      </ScrollArea.Autosize>
    </Box>
  );
}
