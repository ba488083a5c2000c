/** Fields that several nouns have, the same in each. */
import { Type, type TSchema } from 'typebox';
import { orNull, requiredText } from './field.ts';
import { nullable, strictObject, time, webAddress } from './shapes.ts';

export const name = (example: string) =>
  requiredText('name', 'Its name.', example, { maxLength: 200, pattern: '\\S' });

const Links = strictObject(
  {
    website: nullable(webAddress({ description: 'Its own web site.' })),
    chat: nullable(webAddress({ description: 'Where its members talk.' })),
    video: nullable(webAddress({ description: 'Its channel for films and streams.' })),
    social: nullable(webAddress({ description: 'Its page on a social network.' })),
  },
  { title: 'Links', description: 'Where else to find it.' },
);
const link = orNull(webAddress(), {});

export const links = {
  column: 'links',
  type: 'jsonb',
  schema: Links,
  input: strictObject(
    { website: link, chat: link, video: link, social: link } satisfies Record<
      keyof typeof Links.properties,
      TSchema
    >,
    { default: {}, description: 'Where else to find it.' },
  ),
};

/** For one organisation or alliance. Together they stay far below the limit of a line. */
export const managersMax = 2_000;

/** In a table of their own. Left out of a write they stay: the bindings of apps depend on them. */
export const managers = {
  schema: Type.Array(Type.String(), {
    description: 'The addresses of its managers, in order.',
    examples: [['ada@example.org']],
  }),
  input: Type.Optional(
    Type.Array(Type.String({ minLength: 3, maxLength: 254 }), {
      maxItems: managersMax,
      description: 'The addresses of its managers, all of them. Left out, they stay who they are.',
    }),
  ),
};

export const times = {
  createdAt: {
    column: 'created_at',
    type: 'timestamptz(3)',
    schema: time({ description: 'When it was added to the directory.' }),
  },
  updatedAt: {
    column: 'updated_at',
    type: 'timestamptz(3)',
    schema: time({ description: 'Moves only when a field of this object does.' }),
  },
};
