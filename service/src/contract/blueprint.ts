import { Type, type Static, type TSchema } from 'typebox';
import {
  flag,
  optionalText,
  optionalTime,
  orNull,
  ownSlug,
  requiredText,
  responseProperties,
  type Fields,
} from './field.ts';
import { name, times } from './shared-fields.ts';
import { nullable, slug, strictObject, uuid } from './shapes.ts';

const label = (maxLength: number, description: string, example: string) =>
  Type.String({ minLength: 1, maxLength, description, examples: [example] });
const quantity = (description: string) => Type.Number({ minimum: 0, maximum: 1e12, description });

const BlueprintOutput = strictObject(
  {
    item: label(200, 'The key of the item.', 'granite'),
    name: label(200, 'The name of the item.', 'Granite'),
    quantity: quantity('The quantity that one run produces.'),
  },
  { title: 'BlueprintOutput', description: 'The product of a blueprint.' },
);

const Ingredient = strictObject(
  {
    item: label(200, 'The key of the item.', 'diorite'),
    name: label(200, 'The name of the item.', 'Diorite'),
    quantity: quantity('The quantity that one run uses.'),
    unit: nullable(
      Type.String({
        maxLength: 40,
        description: 'The unit of the quantity. Null means pieces.',
        examples: ['kg'],
      }),
    ),
  },
  { title: 'Ingredient', description: 'An ingredient of a blueprint.' },
);

const BlueprintSource = strictObject(
  {
    kind: label(80, 'The kind of place or reward.', 'crafting-table'),
    name: label(200, 'The name of the source.', 'Crafting table'),
  },
  { title: 'BlueprintSource', description: 'A place where the blueprint is found or used.' },
);

const itemText = Type.String({ minLength: 1, maxLength: 200 });
const ingredientInput = strictObject({
  item: itemText,
  name: itemText,
  quantity: Type.Number({ minimum: 0, maximum: 1e12 }),
  unit: orNull(Type.String({ minLength: 1, maxLength: 40 }), {}),
} satisfies Record<keyof typeof Ingredient.properties, TSchema>);

const list = <Read extends TSchema, Written extends TSchema>(
  column: string,
  schema: Read,
  input: Written,
  maxItems: number,
  description: string,
) => ({
  column,
  type: 'jsonb',
  schema: Type.Array(schema, { description }),
  input: Type.Array(input, { maxItems, default: [], description }),
});

/** Every field of a blueprint, in the order of a response; all are public. CONTRIBUTING.md says how to add one. */
export const blueprintFields = {
  id: { column: 'id', type: 'uuid', schema: uuid() },
  slug: ownSlug('The unique name in URLs.', 'granite'),
  key: requiredText('key', 'The unique key in the source. It never changes.', 'granite', {
    maxLength: 200,
  }),
  name: name('Granite'),
  description: optionalText(
    'description',
    5_000,
    'A description in plain text.',
    'A speckled stone.',
  ),
  category: {
    column: 'category',
    type: 'text',
    schema: slug({ description: 'The category of the product.', examples: ['materials'] }),
    input: slug({ description: 'The category of the product.' }),
  },
  output: { column: 'output', type: 'jsonb', schema: BlueprintOutput, input: BlueprintOutput },
  craftTimeSeconds: {
    column: 'craft_time_seconds',
    type: 'double precision',
    schema: nullable(
      Type.Number({
        minimum: 0,
        description: 'The duration of one run in seconds. Null if unknown.',
      }),
    ),
    input: orNull(Type.Number({ minimum: 0, maximum: 1e12 }), {
      description: 'The duration of one run in seconds. Null if unknown.',
    }),
  },
  ingredients: list(
    'ingredients',
    Ingredient,
    ingredientInput,
    200,
    'The ingredients that one run uses.',
  ),
  sources: list(
    'sources',
    BlueprintSource,
    BlueprintSource,
    50,
    'The places where the blueprint is found or used.',
  ),
  version: optionalText(
    'version',
    100,
    'The release of the source that it was read from.',
    '1.21.4',
  ),
  active: flag('active', true, 'Whether the source still has the blueprint.'),
  retiredAt: optionalTime(
    'retired_at',
    'When the blueprint disappeared from the source.',
    'When the blueprint disappeared from the source. Only allowed with `active: false`. Defaults to the time of the first write with `active: false`.',
  ),
  ...times,
} satisfies Fields;

/** The fields that `search` looks in: for outputs and ingredients, the item and its name. */
export const blueprintSearch: (keyof typeof blueprintFields)[] = [
  'name',
  'key',
  'output',
  'ingredients',
];

export const Blueprint = strictObject(responseProperties(blueprintFields), {
  title: 'Blueprint',
  description: 'A crafting recipe.',
});
export type Blueprint = Static<typeof Blueprint>;
