import type { DeliveryPeriod } from '../api/types.ts';
import { ChartFrame, size } from './chart-frame.tsx';
import classes from './chart.module.css';

const lines = [
  { key: 'latencyP50Ms', name: 'p50 latency', className: classes['p50'] },
  { key: 'latencyP95Ms', name: 'p95 latency', className: classes['p95'] },
] as const;

/** The response times of receivers. Hidden if there were no responses. */
export function LatencyChart({ hours }: { hours: DeliveryPeriod[] }) {
  const most = Math.max(0, ...hours.map(({ latencyP95Ms }) => latencyP95Ms ?? 0));
  const last = hours.findLast(({ latencyP50Ms }) => latencyP50Ms !== null);
  if (!last) return null;
  return (
    <ChartFrame
      title="Response latency"
      summary={`Response latency: p50 ${last.latencyP50Ms} ms and p95 ${last.latencyP95Ms} ms in the last hour with responses; at most ${most} ms.`}
      top={`${most.toLocaleString()} ms`}
      from={hours[0]?.start ?? ''}
      legend={[...lines]}
    >
      {lines.map(({ key, className }) =>
        hours.map((hour, index) => {
          const value = hour[key];
          if (value === null) return null;
          const y = size.height - (value / Math.max(1, most)) * (size.height - 4);
          const width = size.width / hours.length;
          return (
            <rect
              key={hour.start}
              className={className}
              x={index * width + 1}
              width={width - 2}
              y={y - 2}
              height={4}
              rx={2}
            >
              <title>{`${value} ms`}</title>
            </rect>
          );
        }),
      )}
    </ChartFrame>
  );
}
