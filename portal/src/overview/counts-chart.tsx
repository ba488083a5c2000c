import type { DeliveryPeriod } from '../api/types.ts';
import { ChartFrame, formatHour, size } from './chart-frame.tsx';
import classes from './chart.module.css';
import { addUp } from './add-up.ts';

/** In the order of the bars, from bottom to top. */
const kinds = [
  { key: 'succeeded', name: 'Succeeded', className: classes['succeeded'] },
  { key: 'pending', name: 'Pending', className: classes['pending'] },
  { key: 'failed', name: 'Failed', className: classes['failed'] },
] as const;
const gap = 3;
/** Keeps one failure among many successes visible. */
const heightMin = 3;

export function CountsChart({ hours }: { hours: DeliveryPeriod[] }) {
  const most = Math.max(
    1,
    ...hours.map(({ succeeded, failed, pending }) => succeeded + failed + pending),
  );
  const { succeeded, failed, pending } = addUp(hours);
  const width = size.width / hours.length;
  return (
    <ChartFrame
      title="Deliveries by hour"
      summary={`Deliveries by hour: ${succeeded} succeeded, ${failed} failed, ${pending} pending in total; at most ${most} per hour.`}
      top={`${most.toLocaleString()} per hour`}
      from={hours[0]?.start ?? ''}
      legend={[...kinds]}
    >
      {hours.map((hour, index) => (
        <g key={hour.start}>
          <title>{`${formatHour(hour.start)}: ${hour.succeeded} succeeded, ${hour.failed} failed, ${hour.pending} pending`}</title>
          {stack(hour, most).map(({ className, y, height }) => (
            <rect
              key={className}
              className={className}
              x={index * width + gap / 2}
              width={width - gap}
              y={y}
              height={height}
            />
          ))}
        </g>
      ))}
    </ChartFrame>
  );
}

function stack(hour: DeliveryPeriod, most: number) {
  let foot = size.height;
  return kinds
    .filter(({ key }) => hour[key] > 0)
    .map(({ key, className }) => {
      const height = Math.max(
        heightMin,
        (hour[key] / most) * (size.height - heightMin * kinds.length),
      );
      foot -= height;
      return { className, y: foot, height };
    });
}
