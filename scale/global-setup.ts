/** Prepares the folder of a run, and a caretaker that removes it. */
import { endRun, startRun } from '../harness/run.ts';

export const globalSetup = () => void startRun('scale');
export const globalTeardown = endRun;
