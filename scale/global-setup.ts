/** Prepares the folder of a run, and a caretaker that removes it. */
import { endRun, startRun } from '../faults/start-run.ts';

export const globalSetup = () => startRun('/tmp/orgdir-scale-');
export const globalTeardown = endRun;
