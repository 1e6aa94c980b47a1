// needs: nothing
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import t from 'tap';
import { shareOncePerProcess } from '../../../workers/transport/process-state.ts';

const DOOR = new URL('../../../workers/transport/process-state.ts', import.meta.url).href;
const THREADS = 6;

/** Starts a thread that asks for the action, and returns what it saw: how often the action had run by then. */
async function ask(name: string, count: Int32Array): Promise<number> {
  const source = `
    import { parentPort, workerData } from 'node:worker_threads';
    const { oncePerProcess } = await import(${JSON.stringify(DOOR)});
    oncePerProcess(${JSON.stringify(name)}, () => {
      Atomics.wait(workerData, 1, 0, 50);
      Atomics.add(workerData, 0, 1);
    });
    parentPort.postMessage(Atomics.load(workerData, 0));
  `;
  const url = new URL(`data:text/javascript,${encodeURIComponent(source)}`);
  const [seen] = await once(new Worker(url, { workerData: count }), 'message');
  return seen;
}

t.test('threads that start together and later run an action once, and go on when it is done', async (t) => {
  const count = new Int32Array(new SharedArrayBuffer(8));
  shareOncePerProcess('shared');
  const together = await Promise.all(Array.from({ length: THREADS }, () => ask('shared', count)));
  t.same(together, Array(THREADS).fill(1));
  shareOncePerProcess('shared');
  t.equal(await ask('shared', count), 1, 'a later thread finds it done');
});

t.test('a thread that shares nothing runs it itself', async (t) => {
  const count = new Int32Array(new SharedArrayBuffer(8));
  t.same([await ask('own', count), await ask('own', count)], [1, 2]);
});
