/** The fields of entries that people edit by hand, and how each goes to and from text. */
/** As in the addresses of the API. */
export type EntryKind = 'orgs' | 'alliances' | 'blueprints';

export type Field = {
  /** In the entry; with a dot below `links`. */
  name: string;
  label: string;
  /** `list`: one on each line. */
  kind: 'text' | 'long' | 'number' | 'flag' | 'list' | { choices: string[] };
  /** Whether it may not be empty. */
  required?: boolean;
};
export type Value = string | boolean;

const links: Field[] = [
  ['website', 'Website'],
  ['chat', 'Chat'],
  ['video', 'Video'],
  ['social', 'Social network'],
].map(([name = '', label = '']) => ({ name: `links.${name}`, label, kind: 'text' }));

const described: Field[] = [
  { name: 'name', label: 'Name', kind: 'text', required: true },
  { name: 'description', label: 'Description', kind: 'long' },
];
const shared: Field[] = [
  { name: 'tag', label: 'Tag', kind: 'text' },
  { name: 'aliases', label: 'Other names, one on each line', kind: 'list' },
  ...links,
  { name: 'logoUrl', label: 'URL of the logo', kind: 'text' },
  { name: 'bannerUrl', label: 'URL of the banner', kind: 'text' },
  { name: 'recruiting', label: 'Recruiting', kind: 'flag' },
];
const founded: Field = {
  name: 'foundedAt',
  label: 'Founded, as 2027-01-31T12:00:00Z',
  kind: 'text',
};
const managers: Field = {
  name: 'managers',
  label: 'Managers, one address on each line',
  kind: 'list',
};

export const fieldsOf: Record<EntryKind, Field[]> = {
  orgs: [
    ...described,
    ...shared,
    { name: 'listed', label: 'Listed', kind: 'flag' },
    { name: 'verified', label: 'Verified', kind: 'flag' },
    { name: 'status', label: 'Status', kind: { choices: ['active', 'closed'] } },
    { name: 'alliance', label: 'Slug of its alliance', kind: 'text' },
    { name: 'primaryActivity', label: 'Main activity', kind: 'text' },
    { name: 'secondaryActivity', label: 'Other activity', kind: 'text' },
    { name: 'commitment', label: 'Commitment', kind: 'text' },
    founded,
    { name: 'memberCount', label: 'Members', kind: 'number', required: true },
    { name: 'language', label: 'Language', kind: 'text' },
    { name: 'timezone', label: 'Time zone', kind: 'text' },
    { name: 'location', label: 'Location', kind: 'text' },
    { name: 'chatServerId', label: 'Id of its chat server (private)', kind: 'text' },
    { name: 'contactEmail', label: 'Contact address (private)', kind: 'text' },
    { name: 'notes', label: 'Notes (private)', kind: 'long' },
    managers,
  ],
  alliances: [
    ...described,
    ...shared,
    { name: 'status', label: 'Status', kind: { choices: ['active', 'disbanded'] } },
    founded,
    managers,
  ],
  blueprints: [
    ...described,
    { name: 'category', label: 'Category', kind: 'text', required: true },
    { name: 'craftTimeSeconds', label: 'Seconds of one run', kind: 'number' },
    { name: 'version', label: 'Version of the source', kind: 'text' },
    { name: 'active', label: 'Active', kind: 'flag' },
  ],
};

type Entry = Record<string, unknown>;

/** As the form shows it. */
function valueOf(entry: object, { name, kind }: Field): Value {
  const [top = '', below] = name.split('.');
  const whole = (entry as Entry)[top];
  const value = below ? (whole as Entry | null)?.[below] : whole;
  if (kind === 'flag') return value === true;
  if (kind === 'list') return (value as string[]).join('\n');
  // Of an alliance the form has the slug.
  if (typeof value === 'object' && value !== null) return (value as { slug: string }).slug;
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

export function valuesOf(entry: object, fields: Field[]): Record<string, Value> {
  return Object.fromEntries(fields.map((field) => [field.name, valueOf(entry, field)]));
}

/** The body of a PATCH with the fields that differ. */
export function changesOf(
  before: Record<string, Value>,
  after: Record<string, Value>,
  fields: Field[],
) {
  const body: Entry = {};
  for (const field of fields) {
    const value = after[field.name] ?? '';
    if (value === before[field.name]) continue;
    const [top = '', below] = field.name.split('.');
    if (below) body[top] = { ...(body[top] as object), [below]: toJson(value, field) };
    else body[top] = toJson(value, field);
  }
  return body;
}

function toJson(value: Value, { kind, required }: Field): unknown {
  if (typeof value === 'boolean') return value;
  const text = value.trim();
  if (kind === 'list')
    return text
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '');
  if (text === '' && !required) return null;
  // What is no number is sent as it is, and the service says so.
  return kind === 'number' && text !== '' && Number.isFinite(Number(text)) ? Number(text) : text;
}
