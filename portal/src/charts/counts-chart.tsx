import type { DeliveryPeriod, DeliveryStats } from '../api/types.ts';
import { Chart, scaleTop, size } from './chart.tsx';
import classes from './chart.module.css';

/** In the order of the bars, from bottom to top. */
const kinds = [
  { key: 'succeeded', name: 'Succeeded', className: classes['succeeded'] },
  { key: 'pending', name: 'Pending', className: classes['pending'] },
  { key: 'cancelled', name: 'Cancelled', className: classes['cancelled'] },
  { key: 'failed', name: 'Failed', className: classes['failed'] },
] as const;
const gap = 3;
/** Keeps one failure among many successes visible. */
const heightMin = 3;

type Props = { stats: DeliveryStats; listOf: (start: string) => string };

export function CountsChart({ stats: { periods, periodHours }, listOf }: Props) {
  const top = scaleTop(Math.max(0, ...periods.map(sumOf)));
  const width = size.width / periods.length;
  // Rare kinds have a legend only when there are some.
  const legend = kinds.filter(
    ({ key }) => key !== 'cancelled' || periods.some((period) => period.cancelled > 0),
  );
  return (
    <Chart
      title="Deliveries"
      legend={legend}
      top={top}
      periods={periods.map((period) => ({
        start: period.start,
        text: describeCounts(period),
        to: listOf(period.start),
      }))}
      periodHours={periodHours}
    >
      {periods.map((period, index) =>
        stack(period, top).map(({ className, y, height }) => (
          <rect
            key={`${period.start} ${className}`}
            className={className}
            x={index * width + gap / 2}
            width={width - gap}
            y={y}
            height={height}
          />
        )),
      )}
    </Chart>
  );
}

function describeCounts(period: DeliveryPeriod): string {
  const some = kinds.filter(({ key }) => period[key] > 0);
  if (some.length === 0) return 'no deliveries';
  return some
    .map(({ key, name }) => `${period[key].toLocaleString()} ${name.toLowerCase()}`)
    .join(', ');
}

function sumOf({ succeeded, failed, cancelled, pending }: DeliveryPeriod): number {
  return succeeded + failed + cancelled + pending;
}

function stack(period: DeliveryPeriod, top: number) {
  let foot = size.height;
  return kinds
    .filter(({ key }) => period[key] > 0)
    .map(({ key, className }) => {
      const height = Math.max(heightMin, (period[key] / top) * size.height);
      foot -= height;
      return { className, y: foot, height };
    });
}
