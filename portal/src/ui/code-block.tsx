import { Box, Group, ScrollArea, Text } from '@mantine/core';
import { CopyButton } from './copy-button.tsx';
import classes from './code-block.module.css';

/** Text to read or to copy, as it is. It scrolls by keyboard too. */
export function CodeBlock({
  label,
  text,
  maxHeight = 400,
  wrap = false,
}: {
  label: string;
  text: string;
  /** In pixels. */
  maxHeight?: number;
  /** Breaks long lines, for what is one line and long. */
  wrap?: boolean;
}) {
  return (
    <Box className={classes['block'] ?? ''}>
      <Group justify="space-between" gap="xs" px="sm" py={6} className={classes['head'] ?? ''}>
        <Text size="sm" fw={600}>
          {label}
        </Text>
        <CopyButton value={text} label="Copy" aria-label={`Copy: ${label}`} />
      </Group>
      <ScrollArea.Autosize
        mah={maxHeight}
        type="auto"
        viewportProps={{ tabIndex: 0, role: 'region', 'aria-label': label }}
      >
        <pre className={wrap ? `${classes['text']} ${classes['wrap']}` : (classes['text'] ?? '')}>
          {text}
        </pre>
      </ScrollArea.Autosize>
    </Box>
  );
}
