import type { DeliveryPeriod, DeliveryStats } from '../api/types.ts';
import { formatDuration } from '../ui/format-duration.ts';
import { Chart, scaleTop, size } from './chart.tsx';
import classes from './chart.module.css';

const lines = [
  { key: 'latencyP50Ms', name: 'p50', className: classes['p50'] },
  { key: 'latencyP95Ms', name: 'p95', className: classes['p95'] },
] as const;

type Props = { stats: DeliveryStats; listOf: (start: string) => string };

/** The response times of receivers. */
export function LatencyChart({ stats: { periods, periodHours }, listOf }: Props) {
  const top = scaleTop(Math.max(0, ...periods.map(({ latencyP95Ms }) => latencyP95Ms ?? 0)));
  return (
    <Chart
      title="Response latency"
      legend={[...lines]}
      top={top}
      unit={'\u00a0ms'}
      periods={periods.map((period) => ({
        start: period.start,
        text: describeLatency(period),
        to: listOf(period.start),
      }))}
      periodHours={periodHours}
    >
      {lines.map(({ key, className }) => {
        const points = periods.map((period, index) => {
          const ms = period[key];
          const x = ((index + 0.5) / periods.length) * size.width;
          return ms === null ? null : `${x} ${size.height - (ms / top) * size.height}`;
        });
        return (
          <g key={key} className={className}>
            <path className={classes['line']} d={lineThrough(points)} />
            {points.map((point, index) => (
              // A line without length is a round dot of the same width on every screen.
              <path
                key={periods[index]?.start}
                className={classes['point']}
                d={point ? `M${point}h0` : ''}
              />
            ))}
          </g>
        );
      })}
    </Chart>
  );
}

/** Breaks where there were no responses. */
function lineThrough(points: (string | null)[]): string {
  return points
    .map((point, index) => point && `${index > 0 && points[index - 1] ? 'L' : 'M'}${point}`)
    .filter((part) => part !== null)
    .join('');
}

function describeLatency({ latencyP50Ms, latencyP95Ms }: DeliveryPeriod): string {
  if (latencyP50Ms === null || latencyP95Ms === null) return 'no successful deliveries';
  return `p50 ${formatDuration(latencyP50Ms)}, p95 ${formatDuration(latencyP95Ms)}`;
}
