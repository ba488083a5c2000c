/** Puts what a process showed at scrapes through the alert rules, with Prometheus' own `promtool`. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { samples } from './samples.ts';

export const noPromtool = spawnSync('promtool', ['--version']).error
  ? 'promtool is not installed'
  : false;

const rules = join(import.meta.dirname, '../../../ops/alerts.yaml');
const labels = 'job="orgdir",instance="test"';
const isCounter = /_(?:total|count|sum|bucket)(?:\{|$)/;

/** What Prometheus would store. A process that does not respond is down. */
export async function scrape(url: string): Promise<Map<string, number>> {
  const response = await fetch(`${url}/metrics`).catch(() => null);
  const found = response ? samples(await response.text()) : new Map<string, number>();
  // What was not measured yet.
  const known = [...found].filter(([, value]) => !Number.isNaN(value));
  const named = known.map(([name, value]): [string, number] => [withLabels(name), value]);
  return new Map([...named, [`up{${labels}}`, response ? 1 : 0]]);
}

function withLabels(name: string): string {
  return name.endsWith('}') ? `${name.slice(0, -1)},${labels}}` : `${name}{${labels}}`;
}

/**
 * Whether an alert is silent during the first scrape, which lasts ten minutes, and fires once the others, a minute each, have
 * followed and the last has lasted for `minutes`. Counters go on growing as they did last.
 */
export function fires(alert: string, scrapes: Map<string, number>[], minutes: number): boolean {
  const names = [...new Set(scrapes.flatMap((each) => [...each.keys()]))];
  const series = names.map((name) => ({ series: name, values: valuesOf(name, scrapes, minutes) }));
  const silent = check(series, alert, quietMinutes - 1);
  if (!silent.passes) throw new Error(`${alert} fires before the fault:\n${silent.output}`);
  return !check(series, alert, quietMinutes + scrapes.length - 2 + minutes).passes;
}

const quietMinutes = 10;

function valuesOf(name: string, scrapes: Map<string, number>[], minutes: number): string {
  const values = scrapes.map((each) => each.get(name));
  const [first, last, previous] = [values[0], values.at(-1), values.at(-2)];
  const held = (value: number | undefined, times: number) =>
    value === undefined ? `_x${times}` : `${value}x${times - 1}`;
  const growth = isCounter.test(name) ? (last ?? 0) - (previous ?? 0) : 0;
  const end =
    last === undefined ? held(last, minutes) : `${last}+${Math.max(0, growth)}x${minutes}`;
  return [held(first, quietMinutes), ...values.slice(1, -1).map((each) => held(each, 1)), end].join(
    ' ',
  );
}

function check(series: { series: string; values: string }[], alert: string, minute: number) {
  const folder = mkdtempSync(join(tmpdir(), 'orgdir-test-'));
  try {
    const rule_test = { eval_time: `${minute}m`, alertname: alert, exp_alerts: [] };
    const test = { interval: '1m', input_series: series, alert_rule_test: [rule_test] };
    const file = join(folder, 'test.yaml');
    // JSON is YAML.
    writeFileSync(
      file,
      JSON.stringify({ rule_files: [rules], evaluation_interval: '1m', tests: [test] }),
    );
    const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', file], {
      encoding: 'utf8',
    });
    const output = stdout + stderr;
    if (status !== 0 && !output.includes(`alertname: ${alert}`)) throw new Error(output);
    return { passes: status === 0, output };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
