import { Group, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import classes from './chart.module.css';
import { Note } from '../ui/note.tsx';

type LegendEntry = { name: string; className: string | undefined };

/** In drawing units. The drawing stretches to the available width. */
export const size = { width: 480, height: 120 };

type Props = {
  title: string;
  /** For screen readers, instead of the drawing. The table has every value. */
  summary: string;
  top: string;
  from: string;
  legend: LegendEntry[];
  children: ReactNode;
};

/** The frame of a chart: title, legend, top value, first and last hour. */
export function ChartFrame({ title, summary, top, from, legend, children }: Props) {
  return (
    <figure className={classes['figure']}>
      <Group component="figcaption" justify="space-between" gap="xs" mb={4}>
        <Text size="sm" fw={600}>
          {title}
        </Text>
        <Group gap="md" aria-hidden>
          {legend.map(({ name, className }) => (
            <Group key={name} gap={6}>
              <svg width="12" height="12">
                <rect width="12" height="12" rx="2" className={className} />
              </svg>
              <Text size="xs">{name}</Text>
            </Group>
          ))}
        </Group>
      </Group>
      <Note size="xs" aria-hidden>
        {top}
      </Note>
      <svg
        role="img"
        aria-label={summary}
        viewBox={`0 0 ${size.width} ${size.height}`}
        preserveAspectRatio="none"
        className={classes['drawing']}
      >
        {children}
        <line
          x1="0"
          x2={size.width}
          y1={size.height}
          y2={size.height}
          className={classes['axis']}
        />
      </svg>
      <Group justify="space-between" aria-hidden>
        <Note size="xs">{formatHour(from)}</Note>
        <Note size="xs">now</Note>
      </Group>
    </figure>
  );
}

const hourFormat = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });

export function formatHour(start: string): string {
  return hourFormat.format(new Date(start));
}
