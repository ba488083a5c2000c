/** A network namespace as another machine, with links that can be cut. It ends with the process that holds it. */
import { execFile, spawn, spawnSync } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { recordProcess } from '../harness/run.ts';

type Link = {
  /** The address of this machine. */
  near: string;
  /** The address of the other machine. */
  far: string;
  /** Takes the other machine's interface down. Connections are not told. */
  cut(): Promise<void>;
  mend(): Promise<void>;
};

export type Machine = {
  /** A command that runs another one there, and becomes it. */
  enter: string[];
  /** Connects it with this machine by one more network. */
  connect(): Promise<Link>;
  stop(): void;
};

const run = promisify(execFile);

/** Why no machine can be made here, or false. */
export function missingForMachines(): string | false {
  const link = ['ip', 'link', 'add', 'near', 'type', 'veth', 'peer', 'name', 'far'];
  const { status } = spawnSync('unshare', ['--net', ...link]);
  return status === 0 ? false : 'needs CAP_NET_ADMIN, and ip, unshare and nsenter';
}

export async function startMachine(): Promise<Machine> {
  // It ends when its standard input closes, also if this process is killed, and takes namespace and links with it.
  const holder = spawn('unshare', ['--net', 'cat'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const pid = holder.pid ?? 0;
  recordProcess(pid);
  holder.stdin.write('entered');
  await once(holder.stdout, 'data');
  const enter = ['nsenter', `--target=${pid}`, '--net', '--'];
  const there = (...command: string[]) => run('nsenter', [...enter.slice(1), ...command]);
  await there('ip', 'link', 'set', 'lo', 'up');
  return {
    enter,
    stop: () => void holder.stdin.end(),
    async connect() {
      const name = `orgdir${randomBytes(4).toString('hex')}`;
      const [near, far] = chooseAddresses();
      const ends = ['name', name, 'type', 'veth', 'peer', 'name', name, 'netns', String(pid)];
      await run('ip', ['link', 'add', ...ends]);
      await run('ip', ['address', 'add', `${near}/30`, 'dev', name]);
      await run('ip', ['link', 'set', name, 'up']);
      await there('ip', 'address', 'add', `${far}/30`, 'dev', name);
      await there('ip', 'link', 'set', name, 'up');
      const set = async (state: string) => void (await there('ip', 'link', 'set', name, state));
      return { near, far, cut: () => set('down'), mend: () => set('up') };
    },
  };
}

/** Two neighbours in the range that RFC 2544 reserves for measurements, which other runs will hardly choose. */
function chooseAddresses(): [near: string, far: string] {
  const network = `198.18.${randomInt(256)}`;
  const first = 4 * randomInt(64);
  return [`${network}.${first + 1}`, `${network}.${first + 2}`];
}
