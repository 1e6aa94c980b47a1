import type { CallReply } from './pending-calls.ts';

/**
 * The channel between an API process and the services in its primary, for the embedded stores. It uses the messages of
 * the cluster module. Arguments and results are plain JSON. DuplicateKeyError and StoreUnavailableError keep their
 * classes.
 */
export interface PrimaryChannel {
  /** Rejects with StoreUnavailableError when the primary ends before or during the call. */
  call(service: string, method: string, args: readonly unknown[]): Promise<unknown>;
  /**
   * Subscribes to the events that the primary broadcasts for a service. Returns a function that ends the subscription.
   */
  on(service: string, listener: (event: unknown) => void): () => void;
}

/** The primary's end. */
export interface PrimaryChannelHost {
  /** Serves the calls to a service. Results for a dead process are dropped. `processId` is the cluster's worker id. */
  provide(service: string, handler: ChannelServiceHandler): void;
  /** Sends to the processes that have called a service. @returns their number. */
  broadcast(service: string, event: unknown): number;
}

export type ChannelServiceHandler = (
  method: string,
  args: readonly unknown[],
  processId: number,
) => Promise<unknown>;

/** A message of the channel. Everything sent within one turn of the event loop travels together. */
export type ChannelFrame = CallFrame | AnswerFrame | EventFrame;

export interface CallFrame {
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
interface Envelope {
  channelFrames: ChannelFrame[];
}

/** The frames in a message; none when the message is not of the channel. */
export function framesInMessage(message: unknown): ChannelFrame[] {
  const frames = (message as Partial<Envelope> | null)?.channelFrames;
  return Array.isArray(frames) ? frames : [];
}

/**
 * Collects the frames of one turn of the event loop. A message costs about 0.1 ms regardless of its size, so several
 * frames share one.
 */
export function createFrameBatcher(send: (message: Envelope) => void): (frame: ChannelFrame) => void {
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
