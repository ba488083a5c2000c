/** The table of a run: medians of each system, and their ratio if there are two. */
import { align, quantile } from '../figure.ts';
import type { Result } from './measure.ts';

type Value = (result: Result) => number;

const figures: { label: string; load: string; value: Value }[] = [
  { label: 'fan: deliveries/s', load: 'fan', value: (result) => result.deliveriesPerSecond },
  { label: 'fan: CPU ms per delivery', load: 'fan', value: (result) => result.cpuMsPerDelivery },
  {
    label: 'fan: CPU ms of PostgreSQL per delivery',
    load: 'fan',
    value: (result) => result.postgresCpuMsPerDelivery,
  },
  { label: 'one: events/s', load: 'one', value: (result) => result.deliveriesPerSecond },
  { label: 'one: CPU ms per event', load: 'one', value: (result) => result.cpuMsPerDelivery },
  {
    label: 'one: CPU ms of PostgreSQL per event',
    load: 'one',
    value: (result) => result.postgresCpuMsPerDelivery,
  },
  { label: 'latency: p50, ms', load: 'latency', value: (result) => result.p50Ms },
  { label: 'latency: p99, ms', load: 'latency', value: (result) => result.p99Ms },
  { label: 'latency: CPU s', load: 'latency', value: (result) => result.cpuSeconds },
];
const faults: { label: string; value: Value }[] = [
  { label: 'errors', value: ({ errors }) => errors },
  { label: 'missing', value: ({ missing }) => missing },
  { label: 'duplicates', value: ({ duplicates }) => duplicates },
];

export function summarize(results: Result[]): string {
  const systems = [...Map.groupBy(results, ({ system }) => system)];
  const header = ['', ...systems.map(([name]) => name), systems.length > 1 ? 'ratio' : ''];
  const measured = figures.filter((each) => results.some(({ load }) => load === each.load));
  const medians = measured.map(({ label, load, value }) => {
    const values = systems.map(([, own]) =>
      median(
        own.filter((each) => each.load === load),
        value,
      ),
    );
    const [here = 0, against] = values;
    const ratio = against ? (here / against).toFixed(2) : '';
    return [label].concat(
      values.map((each) => String(Number(each.toPrecision(4)))),
      ratio,
    );
  });
  const sums = faults.map(({ label, value }) =>
    [label].concat(systems.map(([, own]) => String(sum(own.map(value))))),
  );
  return align([header, ...medians, ...sums]).join('\n');
}

function median(results: Result[], value: Value): number {
  return quantile(results.map(value), 0.5);
}

function sum(values: number[]): number {
  return values.reduce((total, each) => total + each, 0);
}
