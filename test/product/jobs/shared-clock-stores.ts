import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { type Answer, openTestStores, type TestServer } from '../../support/harness.ts';

/** Past every lease, and past what is looked at only when it is old. */
export const LONG_AFTER_MS = 10 * 60_000;
const PATIENCE_MS = 60_000;

/** Stores for several servers, one after another, and their clock, which can be moved. */
export async function movableStores(t: Test) {
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

/** The job as it ended, with its duties swept meanwhile: what a dead process left is theirs. */
export async function endedBySweeps(server: TestServer, key: string, jobId: string): Promise<Answer['json']> {
  const until = Date.now() + PATIENCE_MS;
  while (Date.now() < until) {
    await server.sweep();
    const { json } = await server.call(`/jobs/${jobId}?wait=1`, { key });
    if (['COMPLETED', 'FAILED', 'CANCELLED'].includes(json.data.status)) return json.data;
  }
  const { json } = await server.call(`/jobs/${jobId}`, { key });
  throw new Error(`The job did not end: ${JSON.stringify(json.data)}`);
}
