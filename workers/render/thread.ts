import { flushCompileCache } from 'node:module';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { markTransferable } from '../transport/transferable.ts';
import { BrowserKeeper } from './keeper.ts';
import type { RenderCall, RenderClient, RenderResult, RenderThreadOptions } from './protocol.ts';
import { createRenderer } from './renderer.ts';

const keeper = new BrowserKeeper(workerData as RenderThreadOptions, (notice) =>
  parentPort?.postMessage(notice),
);
const render = createRenderer(keeper);
// Node writes its code cache only at an ordinary exit, but this thread is terminated from outside.
flushCompileCache();

/**
 * Runs a call in a render thread, which owns one browser. It never throws: a failure is returned as an answer. The
 * bytes of a picture are transferred to the receiver, not copied.
 */
export default async function performCall(call: RenderCall): Promise<RenderResult | undefined> {
  if (call.kind === 'render') return markTransferable(await render(call, renderClientOf(call.client)));
  await keeper.stop();
  return undefined;
}

function renderClientOf(client: MessagePort): RenderClient {
  const clientGone = new AbortController();
  client.once('message', () => clientGone.abort());
  return { clientGone: clientGone.signal, onDrawing: () => client.postMessage('drawing') };
}
