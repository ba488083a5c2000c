import { randomUUID } from 'node:crypto';
import { openingCommands, type Opening } from './commands.ts';
import { apply } from './model.ts';
import { Disagreement, emptyState, type State } from './state.ts';

/** The model at the opening. What could not be done there is left out, and nobody is told of any of it. */
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
