import { Type, type Static } from 'typebox';
import { nullable, slug, strictObject, time, uuid } from './shapes.ts';

export const BlueprintOutput = strictObject(
  {
    item: Type.String({ minLength: 1, maxLength: 200, examples: ['granite'] }),
    name: Type.String({ minLength: 1, maxLength: 200, examples: ['Granite'] }),
    quantity: Type.Number({ minimum: 0, maximum: 1e12 }),
  },
  { title: 'BlueprintOutput' },
);

export const Ingredient = strictObject(
  {
    item: Type.String({ minLength: 1, maxLength: 200, examples: ['diorite'] }),
    name: Type.String({ minLength: 1, maxLength: 200, examples: ['Diorite'] }),
    quantity: Type.Number({ minimum: 0, maximum: 1e12 }),
    unit: nullable(Type.String({ maxLength: 40 })),
  },
  { title: 'Ingredient' },
);

export const BlueprintSource = strictObject(
  {
    kind: Type.String({ minLength: 1, maxLength: 80, examples: ['crafting-table'] }),
    name: Type.String({ minLength: 1, maxLength: 200, examples: ['Crafting table'] }),
  },
  { title: 'BlueprintSource' },
);

export const Blueprint = strictObject(
  {
    id: uuid(),
    slug: slug({ examples: ['granite'] }),
    key: Type.String({ description: 'The name that its source gives it.', examples: ['granite'] }),
    name: Type.String({ examples: ['Granite'] }),
    description: nullable(Type.String()),
    category: slug({ examples: ['materials'] }),
    output: BlueprintOutput,
    craftTimeSeconds: nullable(Type.Number({ minimum: 0 })),
    ingredients: Type.Array(Ingredient),
    sources: Type.Array(BlueprintSource),
    version: nullable(Type.String({ examples: ['1.21.4'] })),
    active: Type.Boolean(),
    retiredAt: nullable(time()),
    createdAt: time(),
    updatedAt: time({ description: 'Moves only when a field of this object does.' }),
  },
  { title: 'Blueprint', description: 'What makes what.' },
);
export type Blueprint = Static<typeof Blueprint>;
