import { Chart, scaleTop, size } from './chart.tsx';

const gap = 3;
/** Keeps one failure among many successes visible. */
const heightMin = 3;

type Kind<Key extends string> = {
  key: Key;
  name: string;
  className: string | undefined;
  /** Has a legend only when there are some. */
  isRare?: boolean;
};
type Counts<Key extends string> = Record<Key, number>;
type Props<Key extends string> = {
  title: string;
  /** From bottom to top. */
  kinds: Kind<Key>[];
  periods: { start: string; counts: Counts<Key>; to?: string }[];
  periodHours: number;
  /** What a period without any has. */
  none: string;
  isStrip?: boolean;
};

/** Counts over time, in a bar for each period. */
export function StackedChart<Key extends string>(props: Props<Key>) {
  const { kinds, periods, none, ...chart } = props;
  const sumOf = (counts: Counts<Key>) => kinds.reduce((sum, { key }) => sum + counts[key], 0);
  const top = scaleTop(Math.max(0, ...periods.map(({ counts }) => sumOf(counts))));
  const width = size.width / periods.length;
  const isSeen = ({ key, isRare }: Kind<Key>) =>
    !isRare || periods.some(({ counts }) => counts[key] > 0);
  return (
    <Chart
      {...chart}
      legend={kinds.filter(isSeen)}
      top={top}
      periods={periods.map(({ counts, ...period }) => ({
        ...period,
        text: describe(kinds, counts) || none,
      }))}
    >
      {periods.map(({ start, counts }, index) =>
        stack(kinds, counts, top).map(({ className, y, height }) => (
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

function describe<Key extends string>(kinds: Kind<Key>[], counts: Counts<Key>): string {
  return kinds
    .filter(({ key }) => counts[key] > 0)
    .map(({ key, name }) => `${counts[key].toLocaleString()} ${name.toLowerCase()}`)
    .join(', ');
}

function stack<Key extends string>(kinds: Kind<Key>[], counts: Counts<Key>, top: number) {
  let foot = size.height;
  return kinds
    .filter(({ key }) => counts[key] > 0)
    .map(({ key, className }) => {
      const height = Math.max(heightMin, (counts[key] / top) * size.height);
      foot -= height;
      return { className, y: foot, height };
    });
}
