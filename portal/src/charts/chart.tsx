import { Group, Text } from '@mantine/core';
import { useRef, type KeyboardEvent, type ReactNode } from 'react';
import { Link } from 'react-router';
import { Note } from '../ui/note.tsx';
import { useTimes } from '../ui/times.tsx';
import classes from './chart.module.css';

type LegendEntry = { name: string; className: string | undefined };
export type Period = {
  start: string;
  /** The values, for the tip and for screen readers. */
  text: string;
  /** The list behind it, if there is one. */
  to?: string;
};

/** In drawing units. The drawing stretches to the available width. */
export const size = { width: 480, height: 128 };

type Props = {
  title: string;
  legend: LegendEntry[];
  /** The value at the top of the scale, from `scaleTop`. */
  top: number;
  unit?: string;
  periods: Period[];
  periodHours: number;
  /** Only the drawing, with its links and tips, in a row of 60 pixels. */
  isStrip?: boolean;
  /** The drawing. */
  children: ReactNode;
};

/** A chart over time: scale, grid and times around the drawing, and a tip for each period, which is a link if there is a list behind it. */
export function Chart({ isStrip = false, ...props }: Props) {
  const { title, legend, top, unit = '', periods, periodHours, children } = props;
  const times = useTimes();
  const [first, last] = [periods[0], periods.at(-1)];
  return (
    <figure
      className={classes['figure']}
      aria-label={title}
      {...(isStrip && { 'data-strip': true })}
    >
      <Group component="figcaption" justify="space-between" gap="xs" mb="sm">
        <Text size="sm" fw={600}>
          {title}{' '}
          <Note span size="xs" fw={400}>
            {first && last && `times in ${times.zonesOf(first.start, last.start)}`}
          </Note>
        </Text>
        <Legend legend={legend} />
      </Group>
      <div className={classes['plot']}>
        <div className={classes['ticks']} aria-hidden>
          {[top, top / 2, 0].map((value) => (
            <Note key={value} size="xs">
              {value.toLocaleString()}
              {value > 0 && unit}
            </Note>
          ))}
        </div>
        <div className={classes['area']}>
          <svg
            aria-hidden
            viewBox={`0 0 ${size.width} ${size.height}`}
            preserveAspectRatio="none"
            className={classes['drawing']}
          >
            {[0, 0.5, 1].map((share) => (
              <line
                key={share}
                x2={size.width}
                y1={share * size.height}
                y2={share * size.height}
                className={classes['grid']}
              />
            ))}
            {children}
          </svg>
          <Periods periods={periods} periodHours={periodHours} />
        </div>
        <div className={classes['times']} aria-hidden>
          {ticksOf(periods).map(({ start }) => (
            <Note key={start} size="xs">
              {times.tick(start, periodHours)}
            </Note>
          ))}
        </div>
      </div>
    </figure>
  );
}

function Legend({ legend }: { legend: LegendEntry[] }) {
  return (
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
  );
}

/** One stop for Tab: the arrow keys, Home and End move between the periods. */
function Periods({ periods, periodHours }: Pick<Props, 'periods' | 'periodHours'>) {
  const times = useTimes();
  const list = useRef<HTMLUListElement>(null);
  const move = (event: KeyboardEvent) => {
    const stops = [...(list.current?.querySelectorAll<HTMLElement>('[tabindex]') ?? [])];
    const at = stops.indexOf(event.target as HTMLElement);
    const targets: Record<string, number> = {
      ArrowLeft: at - 1,
      ArrowRight: at + 1,
      Home: 0,
      End: stops.length - 1,
    };
    const target = stops[targets[event.key] ?? -1];
    if (!target) return;
    event.preventDefault();
    target.focus();
  };
  return (
    <ul ref={list} className={classes['periods']} role="list" onKeyDown={move}>
      {periods.map(({ start, text, to }, index) => {
        const time = times.period(start, periodHours);
        return (
          <li key={start}>
            <Stop
              to={to}
              label={`${time}: ${text}`}
              tabIndex={index === periods.length - 1 ? 0 : -1}
            />
            <div className={classes['tip']} aria-hidden>
              <strong>{time}</strong>
              <br />
              {text}
            </div>
          </li>
        );
      })}
    </ul>
  );
}

function Stop({
  to,
  label,
  tabIndex,
}: {
  to?: string | undefined;
  label: string;
  tabIndex: number;
}) {
  const shared = { className: classes['period'], 'aria-label': label, tabIndex };
  return to === undefined ? <span role="img" {...shared} /> : <Link to={to} {...shared} />;
}

/** Five times, from the first period to the last. */
function ticksOf(periods: Period[]): Period[] {
  const last = periods.length - 1;
  const at = new Set([0, 0.25, 0.5, 0.75, 1].map((share) => Math.round(share * last)));
  return periods.filter((_, index) => at.has(index));
}

/** The smallest round number that is at least this, so that half of it is round too. */
export function scaleTop(most: number): number {
  const power = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(1, most))));
  return Math.max(2, ([1, 2, 4, 6, 8, 10].find((each) => each * power >= most) ?? 10) * power);
}
