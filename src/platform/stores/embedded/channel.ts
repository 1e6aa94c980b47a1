import cluster from 'node:cluster';
import { StoreUnavailableError } from '../documents/port.ts';
import { type CallReply, PendingCalls, serializeError } from './pending-calls.ts';

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

/**
 * The channel between an API process and the services in its primary, for the embedded stores. It uses the messages of
 * the cluster module. Arguments and results are plain JSON. Errors of the stores keep their classes.
 */
export class PrimaryChannel {
  readonly #pending = new PendingCalls();
  readonly #listeners = new Map<string, Set<(event: unknown) => void>>();
  readonly #send: (frame: ChannelFrame) => void;
  #isGone = false;

  /** @param self this process, which cluster.fork() has started. */
  constructor(self: Pick<NodeJS.Process, 'send' | 'on'> = process) {
    // With a callback, the end of the primary is reported by `disconnect` and not by an uncaught error.
    this.#send = createFrameBatcher((message) => self.send?.(message, undefined, undefined, () => {}));
    self.on('message', (message) => {
      for (const frame of framesInMessage(message)) this.#receive(frame);
    });
    self.on('disconnect', () => {
      this.#isGone = true;
      this.#pending.failAll(primaryGoneError());
    });
  }

  /** Rejects with StoreUnavailableError when the primary ends before or during the call. */
  call(service: string, method: string, args: readonly unknown[]): Promise<unknown> {
    if (this.#isGone) return Promise.reject(primaryGoneError());
    const { id, answered } = this.#pending.begin();
    this.#send({ kind: 'call', id, service, method, args });
    return answered;
  }

  /**
   * Subscribes to the events that the primary broadcasts for a service. Returns a function that ends the subscription.
   */
  on(service: string, listener: (event: unknown) => void): () => void {
    const ofService = this.#listeners.get(service) ?? new Set();
    this.#listeners.set(service, ofService.add(listener));
    return () => ofService.delete(listener);
  }

  #receive(frame: ChannelFrame): void {
    if (frame.kind === 'event') {
      for (const listener of this.#listeners.get(frame.service) ?? []) listener(frame.event);
    } else if (frame.kind === 'answer') this.#pending.settle(frame);
  }
}

function primaryGoneError(): StoreUnavailableError {
  return new StoreUnavailableError('The primary process is gone, and the embedded stores with it.');
}

/** The primary's end of the channels to all processes that cluster.fork() has started or will start. */
export class PrimaryChannelHost {
  readonly #handlers = new Map<string, ChannelServiceHandler>();
  /**
   * The senders by process, from the first call of a process until its end. A spare process makes no calls, so it has
   * none.
   */
  readonly #senders = new Map<number, (frame: ChannelFrame) => void>();

  /** @param processes the cluster module of Node, which has the API processes. */
  constructor(processes: Pick<typeof cluster, 'workers' | 'on'> = cluster) {
    processes.on('message', ({ id }, message) => {
      const frames = framesInMessage(message);
      if (frames.length > 0 && !this.#senders.has(id)) {
        const send = (answers: ChannelEnvelope) => {
          const worker = processes.workers?.[id];
          // With a callback, the death of a process during a write is not an error of the primary.
          if (worker?.isConnected()) worker.process.send(answers, undefined, undefined, () => {});
        };
        this.#senders.set(id, createFrameBatcher(send));
      }
      for (const frame of frames) if (frame.kind === 'call') void this.#answer(id, frame);
    });
    processes.on('disconnect', ({ id }) => this.#senders.delete(id));
  }

  /** Serves the calls to a service. Results for a dead process are dropped. `processId` is the cluster's worker id. */
  provide(service: string, handler: ChannelServiceHandler): void {
    this.#handlers.set(service, handler);
  }

  /**
   * Sends an event to the processes that have called a service.
   * @returns the number of these processes.
   */
  broadcast(service: string, event: unknown): number {
    for (const send of this.#senders.values()) send({ kind: 'event', service, event });
    return this.#senders.size;
  }

  async #answer(processId: number, call: CallFrame): Promise<void> {
    const outcome = await this.#callService(call, processId);
    this.#senders.get(processId)?.({ kind: 'answer', id: call.id, ...outcome });
  }

  async #callService({ service, method, args }: CallFrame, processId: number) {
    try {
      const handler = this.#handlers.get(service);
      if (handler === undefined) throw new Error(`The primary provides no service ${service}.`);
      return { value: await handler(method, args, processId) };
    } catch (error) {
      return { error: serializeError(error) };
    }
  }
}
