/** Operations that read and replace the managers of an organisation or alliance. Managers may bind apps to it. */
import { Type, type TObject } from 'typebox';
import { normaliseEmail } from '../../access/email.ts';
import { readManagers, replaceManagers, type ManagedKind } from '../../access/managers.ts';
import { envelope } from '../../contract/envelope.ts';
import { strictObject } from '../../contract/shapes.ts';
import { managersMax } from '../../contract/shared-fields.ts';
import { oneOf } from '../responses/responses.ts';
import { preconditionOf } from './precondition.ts';
import { found } from './reads.ts';
import { allianceParams, operation, orgParams } from './surface.ts';

const addresses = Type.Array(Type.String({ minLength: 3, maxLength: 254 }), {
  maxItems: managersMax,
  description: 'Email addresses. They are trimmed and converted to lower case.',
});
const example = { managers: ['ada@example.org'] };
const ManagersInput = strictObject(
  { managers: addresses },
  { title: 'ManagersInput', description: 'All managers.', examples: [example] },
);
const Managers = strictObject(
  { managers: addresses },
  { title: 'Managers', description: 'All managers, sorted.' },
);
const response = oneOf(Managers, 'ManagersResponse', example);

export const orgManagers = managerOperations('orgs', 'Org', orgParams);
export const allianceManagers = managerOperations('alliances', 'Alliance', allianceParams);

function managerOperations(kind: ManagedKind, noun: string, params: TObject) {
  const path = `/${kind}/:slug/managers` as const;
  return [
    operation({
      operationId: `get${noun}Managers`,
      method: 'GET',
      path,
      params,
      summary: 'Get the managers',
      description: 'Returns the users who may bind apps to it.',
      returns: { 200: 'The managers.' },
      response,
      run: async ({ database, params: { slug } }) =>
        found(await readManagers(database, kind, slug)),
    }),
    operation({
      operationId: `put${noun}Managers`,
      method: 'PUT',
      path,
      params,
      summary: 'Replace the managers',
      description:
        'Users who are not in the list stop being managers, and the bindings of their apps end. Other bindings stay.',
      body: ManagersInput,
      returns: { 200: 'The new managers.' },
      response,
      errors: ['precondition_failed'],
      tagged: true,
      async run({ change, actor, params: { slug }, body, request }) {
        const managers = body.managers.map((email, index) =>
          normaliseEmail(email, `body.managers.${index}`),
        );
        const options = { actor, check: preconditionOf(request) };
        const written = await change((tx) => replaceManagers(tx, kind, slug, managers, options));
        return envelope(written);
      },
    }),
  ];
}
