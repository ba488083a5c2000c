import { Type, type Static, type TSchema } from 'typebox';
import {
  flag,
  optionalText,
  optionalTime,
  orNull,
  ownSlug,
  requiredText,
  schemasOf,
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
    quantity: quantity('How many are made at once.'),
  },
  { title: 'BlueprintOutput', description: 'What is made.' },
);

const Ingredient = strictObject(
  {
    item: label(200, 'The key of the item.', 'diorite'),
    name: label(200, 'The name of the item.', 'Diorite'),
    quantity: quantity('How much of it is used.'),
    unit: nullable(
      Type.String({
        maxLength: 40,
        description: 'What the quantity counts; null: pieces.',
        examples: ['kg'],
      }),
    ),
  },
  { title: 'Ingredient', description: 'What is used up.' },
);

const BlueprintSource = strictObject(
  {
    kind: label(80, 'What kind of place or reward it is.', 'crafting-table'),
    name: label(200, 'Its name.', 'Crafting table'),
  },
  { title: 'BlueprintSource', description: 'Where the blueprint is found or used.' },
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
  slug: ownSlug('Its name in addresses; unique.', 'granite'),
  key: requiredText(
    'key',
    'The name that its source gives it; unique, and never changes.',
    'granite',
    { maxLength: 200 },
  ),
  name: name('Granite'),
  description: optionalText(
    'description',
    5_000,
    'What it is, as plain text.',
    'A speckled stone.',
  ),
  category: {
    column: 'category',
    type: 'text',
    schema: slug({ description: 'What sort of thing it makes.', examples: ['materials'] }),
    input: slug({ description: 'What sort of thing it makes.' }),
  },
  output: { column: 'output', type: 'jsonb', schema: BlueprintOutput, input: BlueprintOutput },
  craftTimeSeconds: {
    column: 'craft_time_seconds',
    type: 'double precision',
    schema: nullable(
      Type.Number({ minimum: 0, description: 'How long one run takes; null: unknown.' }),
    ),
    input: orNull(Type.Number({ minimum: 0, maximum: 1e12 }), {
      description: 'How long one run takes; null: unknown.',
    }),
  },
  ingredients: list('ingredients', Ingredient, ingredientInput, 200, 'What one run uses up.'),
  sources: list('sources', BlueprintSource, BlueprintSource, 50, 'Where it is found or used.'),
  version: optionalText('version', 100, 'The release that it was read from.', '1.21.4'),
  active: flag('active', true, 'Whether its source still has it.'),
  retiredAt: optionalTime(
    'retired_at',
    'When its source ceased to have it.',
    'When its source ceased to have it; goes only with `active: false`. Left out, it is when that was first told.',
  ),
  ...times,
} satisfies Fields;

/** The fields that `search` looks in; of an output and an ingredient, the item and its name. */
export const blueprintSearch: (keyof typeof blueprintFields)[] = [
  'name',
  'key',
  'output',
  'ingredients',
];

export const Blueprint = strictObject(schemasOf(blueprintFields), {
  title: 'Blueprint',
  description: 'What makes what.',
});
export type Blueprint = Static<typeof Blueprint>;
