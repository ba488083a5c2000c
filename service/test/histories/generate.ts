/** Makes histories up. */
import fc from 'fast-check';
import { appRoles } from '../../src/contract/app-roles.ts';
import type {
  Answer,
  BoundName,
  Command,
  History,
  Name,
  Opening,
  Place,
  Step,
} from './commands.ts';

const orgSlots = 3;
const allianceSlots = 2;
const people = 2;
const appSlots = 4;
const webhookSlots = 5;

const slot = (count: number) => fc.nat({ max: count - 1 });
const org = slot(orgSlots);
const alliance = slot(allianceSlots);
const person = slot(people);
const app = slot(appSlots);
const role = fc.constantFrom(...appRoles, 'owner' as const);
const webhook = slot(webhookSlots);
const nth = fc.nat({ max: 5 });
const place: fc.Arbitrary<Place> = fc.oneof(
  org.map((number): Place => ({ kind: 'org', slot: number })),
  alliance.map((number): Place => ({ kind: 'alliance', slot: number })),
);

const ofOrg: BoundName[] = ['application.created', 'event.created'];
const ofAlliance: BoundName[] = ['resource.request.created', 'resource.offer.created'];
const globals: Name[] = [
  'org.created',
  'alliance.created',
  'system.maintenance.enabled',
  'system.maintenance.disabled',
];
const names: Name[] = [...globals, ...ofOrg, ...ofAlliance];
/** Null is everything that the app may have. */
const subscription = fc.option(
  fc.uniqueArray(fc.constantFrom(...names), { minLength: 1, maxLength: 3 }),
  {
    freq: 2,
  },
);
const nastyText = fc.oneof(
  fc.string({ unit: 'grapheme-composite', maxLength: 3 }).filter((text) => !text.includes('\0')),
  fc.constantFrom('', '\u2028', '\\u0041', '"}', '北京', '\u007f\u0001'),
);
const amount = fc.constantFrom(0, 1e12, 0.1, 1e-7, 123456789012, 5e-324);

const answers: fc.Arbitrary<Answer[]> = fc.array(
  fc.record({
    status: fc.oneof(
      { weight: 2, arbitrary: fc.constantFrom<Answer['status']>(200, 204) },
      { weight: 4, arbitrary: fc.constantFrom<Answer['status']>(500, 503, 410, 'timeout', 301) },
    ),
    final: fc.boolean(),
  }),
  { minLength: 1, maxLength: 4 },
);

const seconds = 1_000;
const hour = 3_600 * seconds;
/** By then the first probe is due. */
const firstProbe = 1.1 * hour;
const day = 24 * hour;
/** Shorter than the first wait, longer than it, longer than a lease, longer than every wait for a retry. */
const ms = fc.constantFrom(1 * seconds, 11 * seconds, 31 * seconds, hour, day);

/** A weight before each, so that a history has much to deliver and much to lose. */
const command: fc.Arbitrary<Command> = fc.oneof(
  weigh(4, { do: one('set-org'), org, listed: fc.boolean() }),
  weigh(1, {
    do: one('set-org'),
    org,
    alliance: fc.option(alliance, { freq: 3 }),
    rename: fc.boolean(),
  }),
  weigh(1, { do: one('delete-org'), org }),
  weigh(1, { do: one('set-alliance'), alliance, disbanded: fc.boolean(), rename: fc.boolean() }),
  weigh(1, { do: one('delete-alliance'), alliance }),
  weigh(2, { do: one('add-manager'), of: place, person }),
  weigh(2, { do: one('remove-manager'), of: place, person }),
  weigh(1, { do: one('create-app'), app, owner: person }),
  weigh(1, { do: one('delete-app'), app }),
  weigh(5, { do: one('bind'), app, to: place, by: fc.option(person, { freq: 1 }) }),
  weigh(3, { do: one('set-member'), app, person, role }),
  weigh(1, { do: one('join'), app, person, role }),
  weigh(2, { do: one('remove-member'), app, person }),
  weigh(1, { do: one('transfer'), app, from: person, person }),
  weigh(2, { do: one('unbind'), app }),
  weigh(2, { do: one('create-webhook'), webhook, app, events: subscription }),
  weigh(1, { do: one('subscribe'), webhook, events: subscription }),
  weigh(1, { do: one('move-webhook'), webhook }),
  weigh(2, { do: one('activate'), webhook, active: fc.boolean() }),
  weigh(1, { do: one('suspend-app'), app, on: fc.boolean() }),
  weigh(2, { do: one('suspend-webhook'), webhook, on: fc.boolean() }),
  weigh(1, { do: one('set-healing'), webhook, selfHealing: fc.boolean() }),
  weigh(1, { do: one('set-healing'), webhook, replayAfterHealing: fc.boolean() }),
  weigh(1, { do: one('delete-webhook'), webhook }),
  weigh(3, { do: one('announce'), what: place }),
  weigh(1, { do: one('maintenance'), on: fc.boolean() }),
  weigh(4, {
    do: one('publish'),
    name: fc.constantFrom(...ofOrg),
    of: org,
    text: nastyText,
    amount,
  }),
  weigh(4, {
    do: one('publish'),
    name: fc.constantFrom(...ofAlliance),
    of: alliance,
    text: nastyText,
    amount,
  }),
  weigh(7, { do: one('fan-out'), worker: slot(2), room: fc.constantFrom(1, 3, 1_000) }),
  weigh(8, { do: one('claim'), worker: slot(2), room: fc.constantFrom(1, 3, 100) }),
  weigh(7, { do: one('record'), worker: slot(2), answers }),
  weigh(2, { do: one('recover-leases') }),
  weigh(4, { do: one('update-health') }),
  weigh(1, { do: one('replay-healed') }),
  weigh(4, { do: one('pass'), ms }),
  weigh(2, { do: one('redeliver'), webhook, nth }),
  weigh(2, { do: one('recover'), webhook }),
  weigh(3, { do: one('replay'), webhook }),
  weigh(1, { do: one('read-delivery'), webhook, nth }),
  weigh(1, { do: one('explain'), webhook }),
  weigh(1, {
    do: one('pull'),
    app,
    limit: fc.constantFrom(1, 2, 100),
    event: fc.option(fc.constantFrom(...names), { freq: 1 }),
  }),
);

const atOnce: fc.Arbitrary<Step> = fc
  .tuple(command, command)
  .filter(([first, second]) => mayMeet(first, second))
  .map((both) => ({ do: 'at-once', both }));

const opening: fc.Arbitrary<Opening> = fc.record({
  alliances: fc.integer({ min: 1, max: allianceSlots }),
  orgs: fc.array(fc.record({ listed: fc.boolean(), alliance: fc.option(alliance) }), {
    minLength: 1,
    maxLength: orgSlots,
  }),
  apps: fc.array(fc.record({ owner: person, to: fc.option(place, { freq: 4 }) }), {
    minLength: 1,
    maxLength: appSlots,
  }),
  webhooks: fc.array(fc.record({ app, events: subscription, replayAfterHealing: fc.boolean() }), {
    minLength: 1,
    maxLength: webhookSlots,
  }),
});

/** Sends what is due, and all responses are the same. */
const send = (status: Answer['status']): Command[] => [
  { do: 'claim', worker: 0, room: 100 },
  { do: 'record', worker: 0, answers: Array.from({ length: 20 }, () => ({ status, final: true })) },
  { do: 'update-health' },
];
const wait = (waitMs: number): Command => ({ do: 'pass', ms: waitMs });
/** Alone, commands rarely follow each other in this order: probes that fail, come one at a time, or activate webhooks. */
const probes: fc.Arbitrary<Command[]> = fc
  .array(
    fc.tuple(
      fc.constantFrom(5 * 60 * seconds, firstProbe, 4 * hour, 8 * day),
      fc.constantFrom(200, 500),
    ),
    { minLength: 1, maxLength: 4 },
  )
  .map((each) => each.flatMap(([waitMs, status]) => [wait(waitMs), ...send(status)]));
/** Everything fails for a while, and then webhooks are activated by probes. */
function fail(number: number): Command[] {
  const announce: Command = { do: 'announce', what: { kind: 'alliance', slot: number } };
  const fanOut: Command = { do: 'fan-out', worker: 0, room: 1_000 };
  return [
    announce,
    announce,
    fanOut,
    ...send(500),
    announce,
    fanOut,
    wait(firstProbe),
    ...send(200),
    wait(5 * 60 * seconds),
    ...send(200),
    { do: 'replay-healed' },
  ];
}
const outage = alliance.map(fail);
/** The fourth activation has to wait for a week. */
const flapping: fc.Arbitrary<Command[]> = fc
  .array(outage, { minLength: 4, maxLength: 4 })
  .map((outages) => outages.flat());

/** Including the initial state and the end, 10 to 40 steps without outages. */
const length = { minLength: 2, maxLength: 24, size: 'medium' } as const;

export const history: fc.Arbitrary<History> = fc.record({
  opening,
  steps: fc
    .array(
      fc.oneof(
        { weight: 240, arbitrary: command.map((step): Step[] => [step]) },
        { weight: 20, arbitrary: atOnce.map((step) => [step]) },
        { weight: 8, arbitrary: probes },
        { weight: 8, arbitrary: outage },
        { weight: 1, arbitrary: flapping },
      ),
      length,
    )
    .map((groups) => groups.flat()),
});

/** The commands that remain when the worker runs by itself. */
const besideWorker = new Set<Command['do']>([
  'set-org',
  'delete-org',
  'set-alliance',
  'delete-alliance',
  'add-manager',
  'remove-manager',
  'delete-app',
  'bind',
  'unbind',
  'set-member',
  'join',
  'remove-member',
  'transfer',
  'subscribe',
  'activate',
  'delete-webhook',
  'announce',
  'maintenance',
  'publish',
]);

export const historyBesideWorker: fc.Arbitrary<{ opening: Opening; steps: Command[] }> = fc.record({
  opening,
  steps: fc.array(
    command.filter(({ do: verb }) => besideWorker.has(verb)),
    length,
  ),
});

const directory = new Set(['set-org', 'delete-org', 'set-alliance', 'delete-alliance']);
const making = new Set(['create-app', 'create-webhook']);
/** They lock webhooks, whose health is then updated later. */
const locking = new Set([
  'subscribe',
  'move-webhook',
  'activate',
  'suspend-app',
  'suspend-webhook',
  'delete-webhook',
  'delete-app',
  'redeliver',
  'recover',
  'replay',
  'set-healing',
]);

/** Time stands still for both; writers of the directory take turns by themselves; two things cannot have one number. */
function mayMeet(first: Command, second: Command): boolean {
  const verbs = [first.do, second.do];
  const both = (set: Set<string>) => verbs.every((verb) => set.has(verb));
  const skips = verbs.includes('update-health') && verbs.some((verb) => locking.has(verb));
  // Both would go to the same next address, and the model counts two.
  const move = verbs.every((verb) => verb === 'move-webhook');
  // Many events are explained, and several webhooks are replayed, at several moments.
  const lasts = verbs.includes('explain') || verbs.includes('replay-healed');
  return !verbs.includes('pass') && !lasts && !both(directory) && !both(making) && !skips && !move;
}

function one<V extends Command['do']>(verb: V): fc.Arbitrary<V> {
  return fc.constant(verb);
}

function weigh(weight: number, fields: Record<string, fc.Arbitrary<unknown>>) {
  return { weight, arbitrary: fc.record(fields) as fc.Arbitrary<Command> };
}
