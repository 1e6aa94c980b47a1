import cluster from 'node:cluster';
import {
  batchFrames,
  type CallFrame,
  type ChannelHost,
  type Frame,
  framesOf,
  type ServiceHandler,
} from './channel.ts';
import { serializeError } from './pending-calls.ts';

/** The ends of the links to all API processes, in the primary. */
interface ProcessLinks {
  /** Sends to one process, unless it has ended. */
  send(processId: number, message: unknown): void;
  onMessage(listener: (processId: number, message: unknown) => void): void;
  onGone(listener: (processId: number) => void): void;
  /** The connected processes. */
  ids(): number[];
}

/** A channel host for every process that cluster.fork() started or will start. */
export function clusterChannelHost(): ChannelHost {
  return channelHostOver({
    send(processId, message) {
      const worker = cluster.workers?.[processId];
      // With a callback, the death of a process during a write is not an error of the primary.
      if (worker?.isConnected()) worker.process.send(message as object, undefined, undefined, () => {});
    },
    onMessage: (listener) => cluster.on('message', (worker, message) => listener(worker.id, message)),
    onGone: (listener) => cluster.on('disconnect', (worker) => listener(worker.id)),
    ids: () => Object.keys(cluster.workers ?? {}).map(Number),
  });
}

export function channelHostOver(links: ProcessLinks): ChannelHost {
  const handlers = new Map<string, ServiceHandler>();
  const senders = new Map<number, (frame: Frame) => void>();

  function senderTo(processId: number): (frame: Frame) => void {
    const known = senders.get(processId);
    if (known !== undefined) return known;
    const sender = batchFrames((message) => links.send(processId, message));
    senders.set(processId, sender);
    return sender;
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
    const frames = framesOf(message);
    if (frames.length > 0) senderTo(processId);
    for (const frame of frames) if (frame.kind === 'call') void answer(processId, frame);
  });
  links.onGone((processId) => senders.delete(processId));

  return {
    provide: (service, handler) => {
      handlers.set(service, handler);
    },
    broadcast(service, event) {
      const processIds = links.ids();
      for (const processId of processIds) senderTo(processId)({ kind: 'event', service, event });
      return processIds.length;
    },
  };
}
