import { Worker } from 'node:worker_threads';

/**
 * Copies a database that is in use, as it is in one instant, into a new file. A thread of its own reads beside the
 * writer, which goes on meanwhile: that is what the log before the writes (WAL) is for.
 * @throws Error when the copy could not be written.
 */
export function copyDatabase(from: string, to: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(new URL('./copy-thread.ts', import.meta.url), { workerData: { from, to } });
    thread.once('error', reject);
    thread.once('exit', (code) => {
      if (code === 0) resolve();
      else reject(new Error(`The copy of ${from} ended with ${code}.`));
    });
  });
}
