import type { Test } from 'tap';
import { freePort } from '../../../bench/services/server.ts';
import { startWholeService, type WholeService } from '../../support/whole-service.ts';

/** Longer than the lease of an item. */
export const FROZEN_MS = 36_000;

/** A host: a primary and its API processes, real ones. */
export interface RealHost {
  /** Its URL; null while it is dead or stopped. */
  url(): string | null;
  key(): string;
  /** Kills one of its API processes. @param choice any number. */
  killProcess(choice: number): Promise<void>;
  /** Kills the primary and every process of it, all at once. */
  kill(): Promise<void>;
  /** Starts it again on the same stores. */
  restart(): Promise<void>;
  /** SIGSTOP to all of it; or SIGCONT. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
}

export async function startRealHost(
  t: Pick<Test, 'teardown'>,
  given: Record<string, string>,
): Promise<RealHost> {
  // A port that the system chose would change after the death of the only process.
  const settings = { ...given, PORT: String(await freePort()) };
  let service: WholeService = await startWholeService(t, settings);
  let answers = true;
  let frozen: number[] = [];

  async function signalAll(signal: NodeJS.Signals): Promise<number[]> {
    const pids = [service.pid, ...(await service.children())];
    for (const pid of pids) send(pid, signal);
    return pids;
  }

  const thaw = async () => {
    for (const pid of frozen.splice(0)) send(pid, 'SIGCONT');
    answers = true;
  };
  // A stopped process gets no SIGTERM.
  t.teardown(thaw);

  return {
    url: () => (answers ? service.url : null),
    key: () => service.key,
    async killProcess(choice) {
      const pids = await service.children();
      const victim = pids[choice % Math.max(1, pids.length)];
      if (victim !== undefined) send(victim, 'SIGKILL');
    },
    async kill() {
      answers = false;
      await signalAll('SIGKILL');
      await service.ended;
    },
    async restart() {
      service = await startWholeService(t, settings);
      answers = true;
    },
    async freeze() {
      answers = false;
      frozen = await signalAll('SIGSTOP');
    },
    thaw,
  };
}

/** A process that has ended meanwhile needs no signal. */
function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
