import { parentPort, workerData } from 'node:worker_threads';
import type { RenderAnswer, RenderCall, RenderThreadOptions } from '../protocol.ts';
import { BrowserKeeper } from './keeper.ts';
import { createRenderer } from './renderer.ts';

/** A thread that owns one browser. Calls are answered by their id, in whichever order they end. */
if (parentPort === null) throw new Error('This file is the entry of a render thread.');
const port = parentPort;
const keeper = new BrowserKeeper(workerData as RenderThreadOptions, (notice) =>
  port.postMessage({ kind: 'notice', ...notice }),
);
const renderer = createRenderer(keeper);

port.on('message', async ({ id, task }: RenderCall) => {
  const result = await answer(task);
  const transfer = result.kind === 'rendered' ? [result.data.buffer] : [];
  port.postMessage({ kind: 'answer', id, result } satisfies RenderAnswer, transfer);
});

function answer(task: RenderCall['task']): Promise<RenderAnswer['result']> {
  switch (task.kind) {
    case 'render':
      return renderer.render(task);
    case 'warm':
      return renderer.warm();
    case 'stop':
      return keeper.stop().then(() => ({ kind: 'done' }));
  }
}
