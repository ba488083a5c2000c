/** People of the console: with a second factor, and named by the same function as the command. */
import assert from 'node:assert/strict';
import type { OperatorRole } from '../../src/contract/console.ts';
import { setOperator } from '../../src/sign-in/operators.ts';
import { testActor } from './actor.ts';
import { codeOf } from './authenticator.ts';
import { signUp, type Person } from './portal.ts';
import type { TestService } from './service.ts';

export async function addSecondFactor(person: Person): Promise<void> {
  const post = (path: string, json: object = {}) => person.call(path, { method: 'POST', json });
  const { body } = await post('/account/authenticator');
  const code = codeOf(body.data.secret);
  assert.equal((await post('/account/authenticator/confirm', { code })).status, 200);
}

export async function withSecondFactor(service: TestService, email: string): Promise<Person> {
  const person = await signUp(service, email);
  await addSecondFactor(person);
  return person;
}

export async function makeOperator(
  service: TestService,
  email: string,
  role: OperatorRole = 'operator',
): Promise<Person> {
  const person = await withSecondFactor(service, email);
  await service.database
    .transaction()
    .execute((tx) => setOperator(tx, testActor, { account: email, role }));
  return person;
}
