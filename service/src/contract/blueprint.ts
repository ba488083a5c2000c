import { Type, type Static } from 'typebox';
import { nullable, slug, strictObject, time, uuid } from './shapes.ts';

export const BlueprintOutput = strictObject(
  {
    item: Type.String({
      minLength: 1,
      maxLength: 200,
      description: 'The key of the item.',
      examples: ['granite'],
    }),
    name: Type.String({
      minLength: 1,
      maxLength: 200,
      description: 'The name of the item.',
      examples: ['Granite'],
    }),
    quantity: Type.Number({ minimum: 0, maximum: 1e12, description: 'How many are made at once.' }),
  },
  { title: 'BlueprintOutput', description: 'What is made.' },
);

const Ingredient = strictObject(
  {
    item: Type.String({
      minLength: 1,
      maxLength: 200,
      description: 'The key of the item.',
      examples: ['diorite'],
    }),
    name: Type.String({
      minLength: 1,
      maxLength: 200,
      description: 'The name of the item.',
      examples: ['Diorite'],
    }),
    quantity: Type.Number({ minimum: 0, maximum: 1e12, description: 'How much of it is used.' }),
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

export const BlueprintSource = strictObject(
  {
    kind: Type.String({
      minLength: 1,
      maxLength: 80,
      description: 'What kind of place or reward it is.',
      examples: ['crafting-table'],
    }),
    name: Type.String({
      minLength: 1,
      maxLength: 200,
      description: 'Its name.',
      examples: ['Crafting table'],
    }),
  },
  { title: 'BlueprintSource', description: 'Where the blueprint is found or used.' },
);

export const Blueprint = strictObject(
  {
    id: uuid(),
    slug: slug({ description: 'Its name in addresses; unique.', examples: ['granite'] }),
    key: Type.String({
      description: 'The name that its source gives it; unique, and never changes.',
      examples: ['granite'],
    }),
    name: Type.String({ description: 'Its name.', examples: ['Granite'] }),
    description: nullable(
      Type.String({ description: 'What it is, as plain text.', examples: ['A speckled stone.'] }),
    ),
    category: slug({ description: 'What sort of thing it makes.', examples: ['materials'] }),
    output: BlueprintOutput,
    craftTimeSeconds: nullable(
      Type.Number({ minimum: 0, description: 'How long one run takes; null: unknown.' }),
    ),
    ingredients: Type.Array(Ingredient, { description: 'What one run uses up.' }),
    sources: Type.Array(BlueprintSource, { description: 'Where it is found or used.' }),
    version: nullable(
      Type.String({ description: 'The release that it was read from.', examples: ['1.21.4'] }),
    ),
    active: Type.Boolean({ description: 'Whether its source still has it.' }),
    retiredAt: nullable(time({ description: 'When its source ceased to have it.' })),
    createdAt: time({ description: 'When it was added to the directory.' }),
    updatedAt: time({ description: 'Moves only when a field of this object does.' }),
  },
  { title: 'Blueprint', description: 'What makes what.' },
);
export type Blueprint = Static<typeof Blueprint>;
