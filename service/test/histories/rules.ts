/** The shape of the model's rules: one for each command, which changes the state as the command must. */
import type { Command } from './commands.ts';
import type { Observation, Snapshot } from './observation.ts';
import type { State } from './state.ts';

export type Seen = {
  observation: Observation;
  /** The contents of the tables afterwards. */
  snapshot: Snapshot | null;
  /** False where something else happened at the same time. */
  alone: boolean;
};
/** Changes the state as the command must; `requireThat` says first what must be refused. Throws `Disagreement`. */
export type Rule<C extends Command = Command> = (state: State, command: C, seen: Seen) => void;
export type Rules<Verb extends Command['do']> = {
  [V in Verb]: Rule<Extract<Command, { do: V }>>;
};
