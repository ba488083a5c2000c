/** Changing the address of one's account: a link to the new address, which is confirmed in a session of the account. */
import { normaliseEmail } from '../../access/email.ts';
import { listEndingBindings } from '../../access/leave-apps.ts';
import {
  AddressChange,
  AddressChangeRequest,
  AddressChangeToken,
  ChangedAddress,
  type EndingBinding,
} from '../../contract/account.ts';
import { envelope } from '../../contract/envelope.ts';
import { exampleId } from '../../contract/examples.ts';
import { readAddressChange } from '../../sign-in/address-changes.ts';
import { oneOf } from '../responses/responses.ts';
import { done, doneResponse, requireLinks, unusableLink } from './sign-in.ts';
import { operation } from './surface.ts';

const exampleAddress = 'ada@example.com';
const exampleEndingBinding: EndingBinding = {
  appId: exampleId,
  appName: 'Announcer',
  kind: 'organization',
  slug: 'acme-corporation',
  name: 'Acme Corporation',
};

export const addressOperations = [
  operation({
    operationId: 'requestAddressChange',
    method: 'POST',
    path: '/account/address-changes',
    summary: 'Request a change of your address',
    description:
      'Sends a link to the new address and a notice to the current one. The current address stays until the link is used. The link works once, within an hour, only in a session of this account, and replaces earlier links. The response is the same if the new address has an account already; then no link is sent.',
    body: AddressChangeRequest,
    returns: { 202: 'The link is being sent.' },
    response: doneResponse,
    recentProof: true,
    async run({ signIn, account, limits, caller, body }) {
      requireLinks(signIn.links);
      limits.mailForAccount(caller.ip, account.id, normaliseEmail(body.email, 'body.email'));
      await signIn.accounts.requestAddressChange(account, body.email);
      return done;
    },
  }),
  operation({
    operationId: 'checkAddressChange',
    method: 'POST',
    path: '/account/address-changes/check',
    summary: 'Check a link that changes your address',
    description:
      'Returns the new address and the bindings that end with the change. Returns `forbidden` if the link is for another account, was used or replaced, or has expired.',
    body: AddressChangeToken,
    returns: { 200: 'The link can be used.' },
    response: oneOf(AddressChange, 'AddressChangeResponse', {
      email: exampleAddress,
      endingBindings: [exampleEndingBinding],
    }),
    async run({ account, database, body: { token } }) {
      const email = await readAddressChange(database, account.id, token);
      if (email === null) throw unusableLink();
      const move = { from: account.email, to: email };
      return envelope({ email, endingBindings: await listEndingBindings(database, move) });
    },
  }),
  operation({
    operationId: 'changeAddress',
    method: 'PUT',
    path: '/account/address',
    summary: 'Change your address with a link',
    description:
      'Moves your apps to the new address and ends all your other sessions. Manager roles stay with the old address, so bindings end unless the new address manages the same organisation or alliance. Returns `conflict` if the new address got an account in the meantime.',
    body: AddressChangeToken,
    returns: { 200: 'The address was changed.' },
    response: oneOf(ChangedAddress, 'ChangedAddressResponse', { email: exampleAddress }),
    errors: ['conflict'],
    async run({ signIn: { accounts }, account, body: { token } }) {
      const email = await accounts.changeAddress(account, token);
      if (email === null) throw unusableLink();
      return envelope({ email });
    },
  }),
];
