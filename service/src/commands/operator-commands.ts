/** `operators`: who may open the console at `/profile/operator`. */
import { Option, type Command } from 'commander';
import { operatorRoles, type OperatorRole } from '../contract/console.ts';
import { listOperators, removeOperator, setOperator } from '../sign-in/operators.ts';
import { cliActor } from './cli-actor.ts';
import { addCommand } from './parse-option.ts';
import { table } from './with-database.ts';

const argument = ['<account>', 'id or email address of the account'] as const;

export function addOperatorCommands(program: Command): void {
  const operators = program
    .command('operators')
    .description(
      'Say who may open the console at /profile/operator. Without operators there is none.',
    );
  addCommand<{ role: OperatorRole }>(operators, {
    name: 'add',
    description:
      'Name an operator, or change the role. The account needs a second factor from then on.',
    argument,
    options: [
      new Option('--role <role>', 'read-only sees everything and changes nothing')
        .choices(operatorRoles)
        .default('read-only'),
    ],
    example: 'ada@example.org --role operator',
    async act({ change, given: account, flags: { role } }) {
      const changed = await change((tx) => setOperator(tx, cliActor(), { account, role }));
      return [
        { changed },
        [changed ? `${account} has the role ${role} now.` : 'Nothing to change.'],
      ];
    },
  });
  addCommand(operators, {
    name: 'list',
    description: 'List the operators, oldest first.',
    act: async ({ database }) => {
      const found = await listOperators(database);
      const rows = found.map(({ id, email, role, hasSecondFactor, createdAt }) => [
        id,
        email,
        role,
        hasSecondFactor ? 'yes' : 'no',
        createdAt.toISOString(),
      ]);
      return [found, table(['ID', 'EMAIL', 'ROLE', 'SECOND FACTOR', 'SINCE'], rows)];
    },
  });
  addCommand(operators, {
    name: 'remove',
    argument,
    description: 'Take the role away, also from sessions that are open.',
    example: 'ada@example.org',
    act: async ({ change, given }) => {
      const changed = await change((tx) => removeOperator(tx, cliActor(), given));
      return [{ changed }, [changed ? `${given} is no longer an operator.` : 'Nothing to change.']];
    },
  });
}
