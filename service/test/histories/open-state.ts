import { randomUUID } from 'node:crypto';
import { openingCommands, type Opening } from './commands.ts';
import { apply } from './model.ts';
import { Disagreement, emptyState, type State } from './state.ts';

/** The initial state of the model. Impossible parts are left out, and no events are published. */
export function openState(opening: Opening, now: number): State {
  const state = emptyState(now);
  for (const command of openingCommands(opening)) {
    try {
      const observation = { refused: false, id: randomUUID() };
      apply(state, command, { observation, snapshot: null, alone: true });
    } catch (error) {
      if (!(error instanceof Disagreement)) throw error;
    }
  }
  state.events = [];
  return state;
}
