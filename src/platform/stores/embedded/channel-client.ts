import { StoreUnavailableError } from '../documents/port.ts';
import { type ChannelFrame, createFrameBatcher, framesInMessage, type PrimaryChannel } from './channel.ts';
import { PendingCalls } from './pending-calls.ts';

/** The end of a link to the primary, in an API process. */
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
  let gone = false;

  function receive(frame: ChannelFrame): void {
    if (frame.kind === 'event') {
      for (const listener of listeners.get(frame.service) ?? []) listener(frame.event);
    } else if (frame.kind === 'answer') pending.settle(frame);
  }

  link.onMessage((message) => {
    for (const frame of framesInMessage(message)) receive(frame);
  });
  link.onGone(() => {
    gone = true;
    pending.failAll(primaryGone());
  });

  return {
    call(service, method, args) {
      if (gone) return Promise.reject(primaryGone());
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

function primaryGone(): StoreUnavailableError {
  return new StoreUnavailableError('The primary process is gone, and the embedded stores with it.');
}
