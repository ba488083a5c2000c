/** The files for operators: those in `ops/` use only metrics that a process has. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  expiresSoonDays,
  secretExpiresSoonHours,
  usageDays,
  usageWrittenSeconds,
} from '../../src/contract/periods.ts';
import { usageDaysDefault } from '../../src/contract/usage.ts';
import { createMetrics } from '../../src/runtime/metrics.ts';
import { readSettings, settings } from '../../src/settings/settings.ts';

const ops = join(import.meta.dirname, '../../../ops');
const read = (name: string) => readFileSync(join(ops, name), 'utf8');

test('every metric of the alert rules and of the dashboard is in /metrics', async () => {
  const metrics = createMetrics();
  metrics.inFlight(() => 0);
  metrics.lastSyncs(async () => [{ kind: 'chat', at: new Date() }]);
  metrics.queue(
    async () => ({
      due: 0,
      oldestDueSeconds: 0,
      pending: 0,
      leased: 0,
      eventsWaiting: 0,
      oldestEventSeconds: 0,
      setAside: {},
      setAsideExpiring: 0,
    }),
    async () => {},
  );
  metrics.retention(async () => 0);
  metrics.responseCache(() => ({ hit: 0, miss: 0 }));
  metrics.primary(() => ({ moves: 0, others: 0 }));
  metrics.expiringKeys(async () => ({ app: 0, platform: 0 }));
  metrics.expiringSecrets(async () => 0);
  const rendered = await metrics.render();
  const declared = new Set([...rendered.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name));
  for (const file of ['alerts.yaml', 'grafana-dashboard.json']) {
    const used = new Set(
      [...read(file).matchAll(/\b(?:orgdir|process|nodejs)_\w+/g)].map(([name]) =>
        name.replace(/_bucket$/, ''),
      ),
    );
    assert.ok(used.size > 5);
    assert.deepEqual(
      [...used].filter((name) => !declared.has(name)),
      [],
      file,
    );
  }
});

test('periods in the rules and in operations.md are those of the service', () => {
  const documented = readFileSync(join(ops, '../docs/operations.md'), 'utf8');
  for (const period of [
    `expire within ${expiresSoonDays} days`,
    `expires within ${secretExpiresSoonHours} hours`,
    `ends within ${secretExpiresSoonHours} hours`,
    `kept for ${usageDays} days`,
    `last ${usageDaysDefault} days`,
    `every ${usageWrittenSeconds} seconds`,
  ])
    assert.ok(documented.includes(period), period);
  assert.ok(read('alerts.yaml').includes(`expire within ${expiresSoonDays} days`));
  assert.ok(read('alerts.yaml').includes(`expire within ${secretExpiresSoonHours} hours`));
});

test('operations.md describes the metric of every alert', () => {
  const documented = readFileSync(join(ops, '../docs/operations.md'), 'utf8');
  const metrics = new Set(read('alerts.yaml').match(/\b(?:orgdir|process)_\w+/g));
  assert.deepEqual(
    [...metrics].filter((name) => !documented.includes(name.replace(/_bucket$/, ''))),
    [],
  );
});

test('every alert has its paragraph in operations.md, and a test that makes its fault', () => {
  const documented = readFileSync(join(ops, '../docs/operations.md'), 'utf8');
  const tested = ['../service/test/project/alerts.test.ts', '../scale/primaries.test.ts']
    .map(read)
    .join('');
  const names = [...read('alerts.yaml').matchAll(/- alert: (\w+)/g)].map(([, name]) => name ?? '');
  assert.deepEqual(
    names,
    [...documented.matchAll(/^### (Orgdir\w+)$/gm)].map(([, name]) => name),
  );
  assert.deepEqual(
    names.filter((name) => !tested.includes(`fires('${name}'`)),
    [],
  );
});

const promtool = spawnSync('promtool', ['--version']);
test(
  'promtool accepts the alert rules and their tests',
  { skip: promtool.error ? 'promtool is not installed' : false },
  () => {
    for (const args of [
      ['check', 'rules', 'alerts.yaml'],
      ['test', 'rules', 'alerts.test.yaml'],
    ]) {
      const { status, stdout, stderr } = spawnSync('promtool', args, {
        cwd: ops,
        encoding: 'utf8',
      });
      assert.equal(status, 0, stdout + stderr);
    }
  },
);

test('the command at the top of compose.yaml writes secrets that only their owner can read', (t) => {
  const compose = readFileSync(join(ops, '../compose.yaml'), 'utf8');
  const [, command = ''] = /^# +(.*POSTGRES_PASSWORD=%s.*)$/m.exec(compose) ?? [];
  const cwd = mkdtempSync(join(tmpdir(), 'orgdir-test-'));
  t.after(() => rmSync(cwd, { recursive: true }));
  const { status, stderr } = spawnSync('sh', ['-ec', `umask 022; ${command}`], { cwd });
  assert.equal(status, 0, String(stderr));
  assert.equal(statSync(join(cwd, '.env')).mode & 0o777, 0o600);
  const written = readFileSync(join(cwd, '.env'), 'utf8');
  assert.match(written, /^POSTGRES_PASSWORD=[\da-f]{32}\nSECRET_KEY=[\w+/]{43}=\n$/);
});

test('systemd goes on starting the service however often it fails', () => {
  const [unit = '', service = ''] = read('orgdir.service').split('\n[Service]\n');
  assert.match(unit, /^StartLimitIntervalSec=0$/m);
  assert.match(service, /^Restart=on-failure$/m);
});

test('compose.yaml passes every setting on, and an empty one has its default', () => {
  const compose = readFileSync(join(ops, '../compose.yaml'), 'utf8');
  const [, shared = ''] = /^x-environment:.*\n((?: .*\n)+)/m.exec(compose) ?? [];
  const passed = [...shared.matchAll(/^ +([A-Z_]+): (.*)$/gm)];
  // The image sets the addresses, each service its roles, and nothing is kept in a folder.
  const own = new Set(['HOST', 'PORT', 'INTERNAL_PORT', 'DATA_DIR', 'ROLES']);
  assert.deepEqual(
    passed.map(([, name]) => name).sort(),
    Object.keys(settings)
      .filter((name) => !own.has(name))
      .sort(),
  );
  const empty = passed.filter(([, name, value]) => value === `\${${name}:-}`);
  assert.ok(empty.length > 30);
  assert.deepEqual(
    readSettings(Object.fromEntries(empty.map(([, name = '']) => [name, '']))),
    readSettings({}),
  );
});
