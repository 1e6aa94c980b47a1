import cluster from 'node:cluster';
import { StoreUnavailableError } from '../documents/port.ts';
import { type CallReply, PendingCalls, serializeError } from './pending-calls.ts';

/**
 * The channel between an API process and the services in its primary, for the embedded stores. It uses the messages of
 * the cluster module. Arguments and results are plain JSON. Errors of the stores keep their classes.
 */
export interface PrimaryChannel {
  /** Rejects with StoreUnavailableError when the primary ends before or during the call. */
  call(service: string, method: string, args: readonly unknown[]): Promise<unknown>;
  /**
   * Subscribes to the events that the primary broadcasts for a service. Returns a function that ends the subscription.
   */
  on(service: string, listener: (event: unknown) => void): () => void;
}

/** The primary's end of the channel to all its API processes. */
export interface PrimaryChannelHost {
  /** Serves the calls to a service. Results for a dead process are dropped. `processId` is the cluster's worker id. */
  provide(service: string, handler: ChannelServiceHandler): void;
  /**
   * Sends an event to the processes that have called a service.
   * @returns the number of these processes.
   */
  broadcast(service: string, event: unknown): number;
}

type ChannelServiceHandler = (
  method: string,
  args: readonly unknown[],
  processId: number,
) => Promise<unknown>;

/** A call, an answer or an event on the channel. All frames of one turn of the event loop are sent in one message. */
type ChannelFrame = CallFrame | AnswerFrame | EventFrame;

interface CallFrame {
  kind: 'call';
  id: number;
  service: string;
  method: string;
  args: readonly unknown[];
}

interface AnswerFrame extends CallReply {
  kind: 'answer';
}

interface EventFrame {
  kind: 'event';
  service: string;
  event: unknown;
}

/** The envelope by which the channel recognises its messages among others of the same processes. */
interface ChannelEnvelope {
  channelFrames: ChannelFrame[];
}

/** The frames in a message; none when the message is not of the channel. */
function framesInMessage(message: unknown): ChannelFrame[] {
  const frames = (message as Partial<ChannelEnvelope> | null)?.channelFrames;
  return Array.isArray(frames) ? frames : [];
}

/**
 * Collects the frames of one turn of the event loop. A message costs about 0.1 ms regardless of its size, so several
 * frames share one.
 */
function createFrameBatcher(send: (message: ChannelEnvelope) => void): (frame: ChannelFrame) => void {
  let frames: ChannelFrame[] = [];
  return (frame) => {
    frames.push(frame);
    if (frames.length > 1) return;
    setImmediate(() => {
      const channelFrames = frames;
      frames = [];
      send({ channelFrames });
    });
  };
}

/** The API process's end of its link to the primary. */
interface PrimaryLink {
  send(message: unknown): void;
  onMessage(listener: (message: unknown) => void): void;
  onGone(listener: () => void): void;
}

/** A channel over this process's own IPC, for processes that cluster.fork() started. */
export function channelToPrimary(): PrimaryChannel {
  return channelOverLink({
    // With a callback, the end of the primary is reported by onGone and not by an uncaught error.
    send: (message) => process.send?.(message, undefined, undefined, () => {}),
    onMessage: (listener) => process.on('message', listener),
    onGone: (listener) => process.once('disconnect', listener),
  });
}

export function channelOverLink(link: PrimaryLink): PrimaryChannel {
  const pending = new PendingCalls();
  const listeners = new Map<string, Set<(event: unknown) => void>>();
  const send = createFrameBatcher((message) => link.send(message));
  let isGone = false;

  function receive(frame: ChannelFrame): void {
    if (frame.kind === 'event') {
      for (const listener of listeners.get(frame.service) ?? []) listener(frame.event);
    } else if (frame.kind === 'answer') pending.settle(frame);
  }

  link.onMessage((message) => {
    for (const frame of framesInMessage(message)) receive(frame);
  });
  link.onGone(() => {
    isGone = true;
    pending.failAll(primaryGoneError());
  });

  return {
    call(service, method, args) {
      if (isGone) return Promise.reject(primaryGoneError());
      const { id, answered } = pending.begin();
      send({ kind: 'call', id, service, method, args });
      return answered;
    },
    on(service, listener) {
      const ofService = listeners.get(service) ?? new Set();
      listeners.set(service, ofService.add(listener));
      return () => ofService.delete(listener);
    },
  };
}

function primaryGoneError(): StoreUnavailableError {
  return new StoreUnavailableError('The primary process is gone, and the embedded stores with it.');
}

/** The primary's ends of the links to all API processes. */
interface ProcessLinks {
  /** Sends a message to one process, unless the process has ended. */
  send(processId: number, message: unknown): void;
  onMessage(listener: (processId: number, message: unknown) => void): void;
  onGone(listener: (processId: number) => void): void;
}

/** The host of the channels to all processes that cluster.fork() started or will start. */
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
  /**
   * The senders by process, from the first call of a process until its end. A spare process makes no calls, so it has
   * none.
   */
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
