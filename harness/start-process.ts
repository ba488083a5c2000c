/** Starts a program in a process of its own, which the caretaker ends if nobody else does. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Answer, Question } from './answer-parent.ts';
import { killAll } from './processes.ts';
import { recordProcess, runFolder } from './run.ts';

export type Env = Record<string, string>;
type Ended = { code: number | null; signal: NodeJS.Signals | null };

export type StartOptions = {
  args?: string[];
  /** All of its environment, except for PATH. */
  env?: Env;
  /** Comes before the others on PATH. */
  path?: string;
  /** A command that runs another one and becomes it: on a core, or in a namespace. */
  enter?: readonly string[];
  /** Whether it answers its parent (`answer-parent.ts`). */
  answers?: boolean;
};

export type Started = {
  pid: number;
  /** Its output so far. It goes to files, because reading it would affect what is measured. */
  stdout(): string;
  stderr(): string;
  /** Resolves when its standard output matches; rejects if it ends before. */
  printed(pattern: RegExp): Promise<RegExpExecArray>;
  /** Of a process that answers: what it said when it was ready. */
  ready<T>(): Promise<T>;
  ask<T>(question: object): Promise<T>;
  ended: Promise<Ended>;
  hasEnded(): boolean;
  signal(signal: NodeJS.Signals): void;
  /** Sends SIGTERM and resolves when it has ended; rejects if that takes longer than a worker may take. */
  stop(): Promise<Ended>;
  /** Sends SIGKILL and resolves when it has ended. */
  kill(): Promise<void>;
};

/** The deadline of an attempt, and ten seconds to retry a batch. */
const stopDeadlineMs = 15_000;
const startDeadlineMs = 120_000;
const pollMs = 20;
let count = 0;

/** `file` is a program, or one of our own in TypeScript. */
export function startProcess(file: string, options: StartOptions = {}): Started {
  const { args = [], env = {}, path = '', enter = [], answers = false } = options;
  const own = file.endsWith('.ts') ? [process.execPath, file] : [file];
  const [program = '', ...words] = [...enter, ...own, ...args];
  const output = join(runFolder(), `output-${process.pid}-${(count += 1)}`);
  const files = [openSync(`${output}.out`, 'w'), openSync(`${output}.err`, 'w')] as const;
  const child = spawn(program, words, {
    env: { PATH: [path, process.env['PATH']].filter(Boolean).join(delimiter), ...env },
    cwd: '/',
    stdio: answers ? ['ignore', ...files, 'ipc'] : ['ignore', ...files],
  });
  files.forEach(closeSync);
  const pid = child.pid ?? 0;
  recordProcess(pid);
  const stdout = () => readFileSync(`${output}.out`, 'utf8');
  const stderr = () => readFileSync(`${output}.err`, 'utf8');
  let left: Ended | null = null;
  const ended = once(child, 'exit').then(([code, signal]) => (left = { code, signal }));
  const signal = (name: NodeJS.Signals) => void process.kill(pid, name);

  async function printed(pattern: RegExp): Promise<RegExpExecArray> {
    const deadline = Date.now() + startDeadlineMs;
    for (;;) {
      const isLast = left !== null || Date.now() > deadline;
      const found = pattern.exec(stdout());
      if (found) return found;
      if (isLast) throw new Error(`${file} ${left ? 'ended' : 'does not start'}: ${stderr()}`);
      await wait(pollMs);
    }
  }

  const asking = answers ? createAsking(child, ended, stderr) : null;
  return {
    pid,
    stdout,
    stderr,
    printed,
    ready: () => asking?.ready as Promise<never>,
    ask: (question) => asking?.ask(question) as Promise<never>,
    ended,
    hasEnded: () => left !== null,
    signal,
    async stop() {
      if (left) return left;
      signal('SIGTERM');
      return endsInTime(ended);
    },
    async kill() {
      killAll([pid]);
      await ended;
    },
  };
}

/** Rejects if it takes longer than a worker may take to stop. */
export async function endsInTime<T>(ended: Promise<T>): Promise<T> {
  const late = new AbortController();
  const { signal } = late;
  const tooLate = wait(stopDeadlineMs, undefined, { signal }).then(() => {
    throw new Error(`it has not ended after ${stopDeadlineMs} ms`);
  });
  return Promise.race([ended, tooLate]).finally(() => late.abort());
}

function createAsking(child: ChildProcess, ended: Promise<unknown>, stderr: () => string) {
  const open = new Map<number, (answer: unknown) => void>();
  let asked = 0;
  child.on('message', ({ id, answer }: Answer) => {
    open.get(id)?.(answer);
    open.delete(id);
  });
  const answerTo = (id: number) => {
    const answered = new Promise((resolve) => open.set(id, resolve));
    const gone = ended.then(() => {
      throw new Error(`the process that was asked has ended: ${stderr()}`);
    });
    return Promise.race([answered, gone]);
  };
  const ready = answerTo(0);
  return {
    ready,
    ask(question: object) {
      const id = (asked += 1);
      child.send({ id, question } satisfies Question);
      return answerTo(id);
    },
  };
}
