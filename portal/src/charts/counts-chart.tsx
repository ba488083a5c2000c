import type { DeliveryStats } from '../api/types.ts';
import { Chart, scaleTop, size } from './chart.tsx';
import classes from './chart.module.css';
import { countOutcomes, outcomeLabels, type Outcome } from './count-outcomes.ts';

const kinds = (Object.keys(outcomeLabels) as Outcome[]).map((key) => ({
  key,
  name: outcomeLabels[key],
  className: classes[key],
}));
const gap = 3;
/** Keeps one failure among many successes visible. */
const heightMin = 3;

type Props = { stats: DeliveryStats; listOf: (start: string) => string; isStrip?: boolean };

export function CountsChart({ stats: { periods, periodHours }, listOf, isStrip = false }: Props) {
  const counted = periods.map((period) => ({ start: period.start, counts: countOutcomes(period) }));
  const top = scaleTop(Math.max(0, ...counted.map(({ counts }) => sumOf(counts))));
  const width = size.width / periods.length;
  // Rare kinds have a legend only when there are some.
  const legend = kinds.filter(
    ({ key }) => !key.startsWith('cancelled') || counted.some(({ counts }) => counts[key] > 0),
  );
  return (
    <Chart
      title="Deliveries"
      legend={legend}
      top={top}
      periods={counted.map(({ start, counts }) => ({
        start,
        text: describeCounts(counts),
        to: listOf(start),
      }))}
      periodHours={periodHours}
      isStrip={isStrip}
    >
      {counted.map(({ start, counts }, index) =>
        stack(counts, top).map(({ className, y, height }) => (
          <rect
            key={`${start} ${className}`}
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

type Counts = Record<Outcome, number>;

function describeCounts(counts: Counts): string {
  const some = kinds.filter(({ key }) => counts[key] > 0);
  if (some.length === 0) return 'no deliveries';
  return some
    .map(({ key, name }) => `${counts[key].toLocaleString()} ${name.toLowerCase()}`)
    .join(', ');
}

function sumOf(counts: Counts): number {
  return kinds.reduce((sum, { key }) => sum + counts[key], 0);
}

function stack(counts: Counts, top: number) {
  let foot = size.height;
  return kinds
    .filter(({ key }) => counts[key] > 0)
    .map(({ key, className }) => {
      const height = Math.max(heightMin, (counts[key] / top) * size.height);
      foot -= height;
      return { className, y: foot, height };
    });
}
