/** Starts the receivers' process and reads its records. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { allianceSlug, marker, type Kind as ReceiverKind } from './behaviours.ts';
import type { FromReceivers, Received, ToReceivers } from './received.ts';
import { recordProcess } from './run-folder.ts';

export type ReceiverAddress = { event: string; alliance: string; path: string; url: string };
export type Receivers = {
  addresses: ReceiverAddress[];
  /** Sets the secret of each webhook by its path. Call it before anything is sent. */
  sendSecrets(byPath: Record<string, string>): void;
  /** From now on every receiver responds with 200 at once. */
  heal(): void;
  /** From now on the receivers whose paths begin like this respond no more, until all are healed. */
  hang(path: string): void;
  /** Resolves after this many more requests. */
  more(count: number): Promise<void>;
  /** All requests received so far. */
  report(): Promise<Received[]>;
  stop(): void;
};

/** The certificates of the receivers that use TLS, and of the authority that signed them. */
export const tlsFolder = join(import.meta.dirname, '../service/test/support/tls');

export async function startReceivers(
  kinds: readonly ReceiverKind[],
  host = '127.0.0.1',
): Promise<Receivers> {
  const child = fork(
    join(import.meta.dirname, 'receivers-process.ts'),
    [JSON.stringify(kinds), host],
    {
      stdio: 'inherit',
    },
  );
  recordProcess(child.pid ?? 0);
  const send = (message: ToReceivers) => child.send(message);
  const first = (await once(child, 'message')) as [FromReceivers];
  const ports = first[0].kind === 'listening' ? first[0].ports : [];

  async function ask<Kind extends FromReceivers['kind']>(
    message: ToReceivers,
    kind: Kind,
    isMine: (answer: Extract<FromReceivers, { kind: Kind }>) => boolean,
  ): Promise<Extract<FromReceivers, { kind: Kind }>> {
    const answered = new Promise<Extract<FromReceivers, { kind: Kind }>>((resolve) => {
      const look = (answer: FromReceivers) => {
        if (!isKind(answer, kind) || !isMine(answer)) return;
        child.off('message', look);
        resolve(answer);
      };
      child.on('message', look);
    });
    send(message);
    return answered;
  }

  return {
    addresses: addressesOn(kinds, host, ports),
    sendSecrets: (byPath) => send({ kind: 'secrets', byPath }),
    heal: () => send({ kind: 'heal' }),
    hang: (path) => send({ kind: 'hang', path }),
    async more(count) {
      const { total } = await ask({ kind: 'notify', count: 0 }, 'reached', (a) => a.count === 0);
      const goal = total + count;
      await ask({ kind: 'notify', count: goal }, 'reached', (answer) => answer.count === goal);
    },
    report: async () => (await ask({ kind: 'report' }, 'report', () => true)).received,
    stop: () => child.disconnect(),
  };
}

function isKind<Kind extends FromReceivers['kind']>(
  message: FromReceivers,
  kind: Kind,
): message is Extract<FromReceivers, { kind: Kind }> {
  return message.kind === kind;
}

function addressesOn(
  kinds: readonly ReceiverKind[],
  host: string,
  ports: number[],
): ReceiverAddress[] {
  return kinds.flatMap(({ name, behaviour, webhooks, event, tls, ownAlliances }, index) =>
    Array.from({ length: webhooks }, (_, number) => {
      const path = `/${name ?? behaviour}/${number}`;
      return {
        event,
        alliance: ownAlliances ? `${allianceSlug}-${number}` : allianceSlug,
        path,
        url: `${tls ? 'https' : 'http'}://${host}:${ports[index]}${path}?token=${marker}`,
      };
    }),
  );
}
