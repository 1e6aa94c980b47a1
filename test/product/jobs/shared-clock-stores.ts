import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { type Answer, openTestStores, type TestServer } from '../../support/harness.ts';

/** Past every lease, and past the age at which sweeps look at a record. */
export const LONG_AFTER_MS = 10 * 60_000;
const TIMEOUT_MS = 60_000;

/** Stores for several servers, one after another, with a clock that a test moves. */
export async function openSharedClockStores(t: Test) {
  let movedMs = 0;
  const now = () => new Date(Date.now() + movedMs);
  const directory = await mkdtemp(join(tmpdir(), 'darkroom-moved-'));
  const stores = await openTestStores(directory, now);
  t.teardown(async () => {
    await stores.close();
    await rm(directory, { recursive: true, force: true });
  });
  const move = (ms: number) => {
    movedMs += ms;
  };
  return { stores, now, move };
}

/** Waits for the end of a job, and sweeps meanwhile: sweeps finish the work of dead processes. */
export async function endedBySweeps(server: TestServer, key: string, jobId: string): Promise<Answer['json']> {
  const until = Date.now() + TIMEOUT_MS;
  while (Date.now() < until) {
    await server.sweep();
    const { json } = await server.call(`/jobs/${jobId}?wait=1`, { key });
    if (['COMPLETED', 'FAILED', 'CANCELLED'].includes(json.data.status)) return json.data;
  }
  const { json } = await server.call(`/jobs/${jobId}`, { key });
  throw new Error(`The job did not end: ${JSON.stringify(json.data)}`);
}
