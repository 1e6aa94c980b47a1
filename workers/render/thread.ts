import { flushCompileCache } from 'node:module';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { markTransferable } from '../transport/transferable.ts';
import { BrowserKeeper } from './keeper.ts';
import type { RenderAnswer, RenderCall, RenderThreadOptions } from './protocol.ts';
import { createRenderer, type RenderClient } from './renderer.ts';

const keeper = new BrowserKeeper(workerData as RenderThreadOptions, (notice) =>
  parentPort?.postMessage(notice),
);
const renderer = createRenderer(keeper);
// Node writes its code cache only at an ordinary exit, but this thread is terminated from outside.
flushCompileCache();

/**
 * A call, with a message port `client`. A message from the sender means that nobody waits for the answer any more. The
 * thread sends a message when the drawing begins.
 */
type WatchedCall = RenderCall & { client?: MessagePort };

/**
 * Runs a call in a render thread, which owns one browser. It never throws: a failure is returned as an answer. The
 * bytes of a picture are transferred to the receiver, not copied.
 */
export default async function performCall(call: WatchedCall): Promise<RenderAnswer> {
  return markTransferable(await answerCall(call));
}

function answerCall(call: WatchedCall): Promise<RenderAnswer> {
  switch (call.kind) {
    case 'render':
      return renderer.render(call, call.client && renderClientOf(call.client));
    case 'stop':
      return keeper.stop().then(() => ({ kind: 'done' }));
  }
}

function renderClientOf(client: MessagePort): RenderClient {
  const clientGone = new AbortController();
  client.once('message', () => clientGone.abort());
  return { clientGone: clientGone.signal, onDrawing: () => client.postMessage('drawing') };
}
