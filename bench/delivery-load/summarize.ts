/** The table of a run: medians of each system, and their ratio if there are two. */
import { align, quantile } from '../../harness/figures.ts';
import type { Result } from './measure.ts';

type Value = (result: Result) => number;

/** `over`: the figure is relative to that of another load. */
const figures: { label: string; load: string; value: Value; over?: string }[] = [
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
  { label: 'idle: % of a core, worker', load: 'idle', value: (result) => result.workerCpuPercent },
  {
    label: 'idle: % of a core, PostgreSQL',
    load: 'idle',
    value: (result) => result.postgresCpuPercent,
  },
  { label: 'fan: peak memory, MiB', load: 'fan', value: (result) => result.peakMib },
  { label: 'broadcast: peak memory, MiB', load: 'broadcast', value: (result) => result.peakMib },
  {
    label: 'broadcast: deliveries/s',
    load: 'broadcast',
    value: (result) => result.deliveriesPerSecond,
  },
  {
    label: 'broadcast: deliveries/s, times those of fan',
    load: 'broadcast',
    value: (result) => result.deliveriesPerSecond,
    over: 'fan',
  },
  {
    label: 'broadcast: CPU ms per delivery',
    load: 'broadcast',
    value: (result) => result.cpuMsPerDelivery,
  },
];
const faults: { label: string; value: Value }[] = [
  { label: 'errors', value: ({ errors }) => errors },
  { label: 'missing', value: ({ missing }) => missing },
  { label: 'duplicates', value: ({ duplicates }) => duplicates },
];

export function summarize(results: Result[]): string {
  const systems = [...Map.groupBy(results, ({ system }) => system)];
  const header = ['', ...systems.map(([name]) => name), systems.length > 1 ? 'ratio' : ''];
  const measured = figures.filter(({ load, over = load }) =>
    [load, over].every((name) => results.some((each) => each.load === name)),
  );
  const medians = measured.map(({ label, load, value, over }) => {
    const values = systems.map(([, own]) => {
      const of = (name: string) =>
        median(
          own.filter((each) => each.load === name),
          value,
        );
      return over ? of(load) / of(over) : of(load);
    });
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
