/** What the platform may say of an organisation, alliance or blueprint: public and private fields, defaults filled in. */
import { Type, type Static } from 'typebox';
import { BlueprintOutput, BlueprintSource } from '../contract/blueprint.ts';
import { nullable, slug, strictObject, time, webAddress } from '../contract/shapes.ts';

/** Left out is the same as null. */
const optionalText = (maxLength: number, options: object = {}) =>
  Type.Unsafe<string | null>({
    ...nullable(Type.String({ minLength: 1, maxLength })),
    default: null,
    ...options,
  });
const optionalAddress = () =>
  Type.Unsafe<string | null>({ ...nullable(webAddress()), default: null });
const optionalTime = () => Type.Unsafe<string | null>({ ...nullable(time()), default: null });
const flag = (value: boolean) => Type.Boolean({ default: value });

const links = strictObject(
  {
    website: optionalAddress(),
    chat: optionalAddress(),
    video: optionalAddress(),
    social: optionalAddress(),
  },
  { default: {} },
);

const name = Type.String({ minLength: 1, maxLength: 200, pattern: '\\S' });
const named = {
  /** Without one it is made from the name, and the line makes a new entry. */
  slug: Type.Unsafe<string | null>({ ...nullable(slug()), default: null }),
  name,
  tag: optionalText(20),
  description: optionalText(5_000),
  logoUrl: optionalAddress(),
  bannerUrl: optionalAddress(),
  links,
  recruiting: flag(false),
  foundedAt: optionalTime(),
};

export const OrgInput = strictObject({
  ...named,
  primaryActivity: optionalText(100),
  secondaryActivity: optionalText(100),
  commitment: optionalText(100),
  language: optionalText(35, { pattern: '^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$' }),
  timezone: optionalText(64),
  location: optionalText(200),
  memberCount: Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1, default: 0 }),
  /** The slug of its alliance. */
  alliance: Type.Unsafe<string | null>({ ...nullable(slug()), default: null }),
  verified: flag(false),
  status: Type.Enum(['active', 'closed'], { type: 'string', default: 'active' }),
  listed: flag(true),
  contactEmail: optionalText(254, { format: 'email' }),
  chatServerId: optionalText(100),
  notes: optionalText(5_000),
});
export type OrgInput = Static<typeof OrgInput>;

export const AllianceInput = strictObject({
  ...named,
  status: Type.Enum(['active', 'disbanded'], { type: 'string', default: 'active' }),
});
export type AllianceInput = Static<typeof AllianceInput>;

const text = (maxLength: number) => Type.String({ minLength: 1, maxLength });

export const BlueprintInput = strictObject({
  slug: Type.Unsafe<string | null>({ ...nullable(slug()), default: null }),
  key: text(200),
  name,
  description: optionalText(5_000),
  category: slug(),
  output: BlueprintOutput,
  craftTimeSeconds: Type.Unsafe<number | null>({
    ...nullable(Type.Number({ minimum: 0, maximum: 1e12 })),
    default: null,
  }),
  ingredients: Type.Array(
    strictObject({
      item: text(200),
      name: text(200),
      quantity: Type.Number({ minimum: 0, maximum: 1e12 }),
      unit: optionalText(40),
    }),
    { maxItems: 200, default: [] },
  ),
  sources: Type.Array(BlueprintSource, { maxItems: 50, default: [] }),
  version: optionalText(100),
  active: flag(true),
});
export type BlueprintInput = Static<typeof BlueprintInput>;
