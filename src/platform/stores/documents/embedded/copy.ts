import { Worker } from 'node:worker_threads';

/**
 * Copies a consistent snapshot of a database in use to a new file. A separate thread reads while the writer continues,
 * which SQLite's write-ahead log (WAL) makes possible.
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
