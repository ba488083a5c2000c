import { Type, type Static } from 'typebox';
import { slug, strictObject } from './shapes.ts';

export const Suggestion = strictObject(
  {
    kind: Type.Enum(['organization', 'alliance', 'blueprint'], {
      type: 'string',
      description: 'The kind of entry.',
    }),
    slug: slug({ description: 'The unique name in URLs, among entries of its kind.' }),
    name: Type.String({ description: 'The name.', examples: ['Acme Corporation'] }),
  },
  { title: 'Suggestion', description: 'An entry of the directory that matches a text.' },
);
export type Suggestion = Static<typeof Suggestion>;
