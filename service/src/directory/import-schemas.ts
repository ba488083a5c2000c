/** What a line of an import file may hold: the fields of an entry, and what an export of it has beside them. */
import { Type, type Static } from 'typebox';
import { strictObject, time, nullable } from '../contract/shapes.ts';
import { AllianceInput, BlueprintInput, OrgInput } from './inputs.ts';

/** Of one organisation or alliance. Together they stay far below what a line may hold. */
export const managersMax = 2_000;

/** Left out, the managers stay who they are: their bindings hang on them. Otherwise they become these. */
const managers = Type.Optional(
  Type.Array(Type.String({ minLength: 3, maxLength: 254 }), { maxItems: managersMax }),
);

export const OrgLine = strictObject({ ...OrgInput.properties, managers });
export type OrgLine = Static<typeof OrgLine>;

export const AllianceLine = strictObject({ ...AllianceInput.properties, managers });
export type AllianceLine = Static<typeof AllianceLine>;

export const BlueprintLine = strictObject({
  ...BlueprintInput.properties,
  /** Of one that is not active. Left out, it is when that was first told. */
  retiredAt: Type.Unsafe<string | null>({ ...nullable(time()), default: null }),
});
export type BlueprintLine = Static<typeof BlueprintLine>;
