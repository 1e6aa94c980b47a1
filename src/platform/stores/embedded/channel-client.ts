import { StoreUnavailableError } from '../documents/port.ts';
import type { Channel } from './channel.ts';
import { unpackError } from './crossing.ts';
import { batching, type Frame, framesOf } from './frames.ts';

/** The API process's end of a link to the primary. */
interface PrimaryLink {
  send(message: unknown): void;
  onMessage(listener: (message: unknown) => void): void;
  onGone(listener: () => void): void;
}

/** Calls over this process's own IPC. For processes that cluster.fork() started. */
export function channelToPrimary(): Channel {
  return channelOver({
    // With a callback, the end of the primary is reported by onGone and not by an uncaught error.
    send: (message) => process.send?.(message, undefined, undefined, () => {}),
    onMessage: (listener) => process.on('message', listener),
    onGone: (listener) => process.once('disconnect', listener),
  });
}

export function channelOver(link: PrimaryLink): Channel {
  const pending = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  const listeners = new Map<string, Set<(event: unknown) => void>>();
  const send = batching((message) => link.send(message));
  let lastId = 0;
  let gone = false;

  function receive(frame: Frame): void {
    if (frame.kind === 'event') {
      for (const listener of listeners.get(frame.service) ?? []) listener(frame.event);
    } else if (frame.kind === 'answer') {
      const caller = pending.get(frame.id);
      pending.delete(frame.id);
      if (frame.error === undefined) caller?.resolve(frame.value);
      else caller?.reject(unpackError(frame.error));
    }
  }

  link.onMessage((message) => {
    for (const frame of framesOf(message)) receive(frame);
  });
  link.onGone(() => {
    gone = true;
    for (const caller of pending.values()) caller.reject(primaryGone());
    pending.clear();
  });

  return {
    call(service, method, args) {
      if (gone) return Promise.reject(primaryGone());
      const id = ++lastId;
      const answered = new Promise((resolve, reject) => pending.set(id, { resolve, reject }));
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
