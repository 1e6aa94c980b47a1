import { setTimeout as pause } from 'node:timers/promises';
import type { Test } from 'tap';
import type { OperatorState } from '../../../src/host/operator/schema.ts';
import { startWholeService, until } from '../../support/whole-service.ts';

const TOKEN = 'a-token-of-an-operator-for-tests';
const ASK_MS = 3_000;
/** Between two rounds of calls: a fault is as plain, and the cores are free for other tests. */
const PAUSE_MS = 4_000;

/** A service in which faults are planted, and what its operator reads and does. A sample comes each ten seconds. */
export async function openPlanted(t: Test, settings: Record<string, string>) {
  const service = await startWholeService(t, {
    ...{ PROCESSES: '1', OPERATOR_TOKEN: TOKEN },
    ...settings,
  });

  /** The state as the page reads it; a process that hangs is asked no more after some seconds, and another one is. */
  async function state(): Promise<OperatorState | null> {
    const headers = { authorization: `Bearer ${TOKEN}`, connection: 'close' };
    try {
      const answer = await fetch(`${service.url}/operator/v1/state`, {
        headers,
        signal: AbortSignal.timeout(ASK_MS),
      });
      return ((await answer.json()) as { data: OperatorState }).data;
    } catch {
      return null;
    }
  }

  async function act(path: string, body: object): Promise<void> {
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
    const answer = await fetch(`${service.url}/operator/v1${path}`, {
      ...{ method: 'POST', headers, body: JSON.stringify(body) },
    });
    if (!answer.ok) throw new Error(await answer.text());
  }

  /** Waits until a sentence of the page matches, and returns the verdict. */
  async function named(pattern: RegExp) {
    const beganMs = Date.now();
    let found: OperatorState['verdict'] | undefined;
    await until(async () => {
      const known = await state();
      found = known?.hosts.flatMap(({ verdicts }) => verdicts).find(({ sentence }) => pattern.test(sentence));
      await pause(200);
      return found !== undefined;
    });
    t.comment(`named after ${Math.round((Date.now() - beganMs) / 1_000)} s: ${found?.sentence}`);
    return found;
  }

  /** So many calls at once, again and again until it is stopped. */
  function load(callers: number, path: string, body: Uint8Array<ArrayBuffer>) {
    let isOver = false;
    const headers = { authorization: `ApiKey ${service.key}`, 'content-type': 'image/jpeg' };
    const call = () =>
      fetch(`${service.url}/api/v1${path}`, { method: 'POST', headers, body })
        .then((answer) => answer.arrayBuffer())
        .catch(() => undefined);
    const running = (async () => {
      while (!isOver) {
        await Promise.all(Array.from({ length: callers }, call));
        await pause(PAUSE_MS);
      }
    })();
    return () => {
      isOver = true;
      return running;
    };
  }

  return { service, state, act, named, load };
}
