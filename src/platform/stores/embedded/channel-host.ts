import cluster from 'node:cluster';
import {
  type CallFrame,
  type ChannelFrame,
  type ChannelServiceHandler,
  createFrameBatcher,
  framesInMessage,
  type PrimaryChannelHost,
} from './channel.ts';
import { serializeError } from './pending-calls.ts';

/** The ends of the links to all API processes, in the primary. */
interface ProcessLinks {
  /** Sends to one process, unless it has ended. */
  send(processId: number, message: unknown): void;
  onMessage(listener: (processId: number, message: unknown) => void): void;
  onGone(listener: (processId: number) => void): void;
}

/** A channel host for every process that cluster.fork() started or will start. */
export function clusterChannelHost(): PrimaryChannelHost {
  return channelHostOverLinks({
    send(processId, message) {
      const worker = cluster.workers?.[processId];
      // With a callback, the death of a process during a write is not an error of the primary.
      if (worker?.isConnected()) worker.process.send(message as object, undefined, undefined, () => {});
    },
    onMessage: (listener) => cluster.on('message', (worker, message) => listener(worker.id, message)),
    onGone: (listener) => cluster.on('disconnect', (worker) => listener(worker.id)),
  });
}

export function channelHostOverLinks(links: ProcessLinks): PrimaryChannelHost {
  const handlers = new Map<string, ChannelServiceHandler>();
  /** By process, from its first call until its end: a spare process makes no calls. */
  const senders = new Map<number, (frame: ChannelFrame) => void>();

  function open(processId: number): void {
    senders.set(
      processId,
      createFrameBatcher((message) => links.send(processId, message)),
    );
  }

  async function answer(processId: number, call: CallFrame): Promise<void> {
    const outcome = await callService(call, processId);
    senders.get(processId)?.({ kind: 'answer', id: call.id, ...outcome });
  }

  async function callService({ service, method, args }: CallFrame, processId: number) {
    try {
      const handler = handlers.get(service);
      if (handler === undefined) throw new Error(`The primary provides no service ${service}.`);
      return { value: await handler(method, args, processId) };
    } catch (error) {
      return { error: serializeError(error) };
    }
  }

  links.onMessage((processId, message) => {
    const frames = framesInMessage(message);
    if (frames.length > 0 && !senders.has(processId)) open(processId);
    for (const frame of frames) if (frame.kind === 'call') void answer(processId, frame);
  });
  links.onGone((processId) => senders.delete(processId));

  return {
    provide: (service, handler) => {
      handlers.set(service, handler);
    },
    broadcast(service, event) {
      for (const send of senders.values()) send({ kind: 'event', service, event });
      return senders.size;
    },
  };
}
