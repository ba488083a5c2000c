/**
 * The independent model: what each command must do, written from the pages of docs/reference/ on keys, events and
 * deliveries. It never reads the database and calls none of the service's predicates; it takes ids and tokens as
 * observed and reads nothing into them.
 */
import type { Command } from './commands.ts';
import { accessRules } from './model-access.ts';
import { directoryRules } from './model-directory.ts';
import { explainRules } from './model-explain.ts';
import { healingRules } from './model-healing.ts';
import { queueRules } from './model-queue.ts';
import { readingRules } from './model-reading.ts';
import { webhookRules } from './model-webhooks.ts';
import type { Rule, Rules, Seen } from './rules.ts';
import { Disagreement, isRefusal, type State } from './state.ts';

const rules: Rules<Command['do']> = {
  ...directoryRules,
  ...accessRules,
  ...webhookRules,
  ...queueRules,
  ...readingRules,
  ...explainRules,
  ...healingRules,
};

/** Changes the state as the command must. Throws `Disagreement` where the service did something else. */
export function apply(state: State, command: Command, seen: Seen): void {
  if (seen.observation.skipped) return;
  state.tick += 1;
  const refused = !isDone(() => (rules[command.do] as Rule)(state, command, seen));
  if (refused !== seen.observation.refused)
    throw new Disagreement(
      refused ? 'it was done and must be refused' : 'it was refused and must be done',
    );
}

function isDone(rule: () => void): boolean {
  try {
    rule();
    return true;
  } catch (error) {
    if (isRefusal(error)) return false;
    throw error;
  }
}
