import type cluster from 'node:cluster';
import { EventEmitter } from 'node:events';
import { PrimaryChannel, PrimaryChannelHost } from '../../../src/platform/stores/embedded/channel.ts';

interface ChannelPair {
  host: PrimaryChannelHost;
  channel: PrimaryChannel;
  /** Ends the link, as the death of the primary does. */
  cut(): void;
}

/** Both ends in one process, with the same frames and the same JSON between them as between two: for tests. */
export function channelPair(processId = 1): ChannelPair {
  let connected = true;
  function deliver(message: unknown, receive: (copy: unknown) => void): void {
    const text = JSON.stringify(message);
    setImmediate(() => {
      if (connected) receive(JSON.parse(text));
    });
  }

  const self = Object.assign(new EventEmitter(), {
    send: (message: unknown) => deliver(message, (copy) => processes.emit('message', worker, copy)),
  });
  const worker = {
    id: processId,
    isConnected: () => connected,
    process: { send: (message: unknown) => deliver(message, (copy) => self.emit('message', copy)) },
  };
  const processes = Object.assign(new EventEmitter(), { workers: { [processId]: worker } });
  return {
    host: new PrimaryChannelHost(processes as unknown as typeof cluster),
    channel: new PrimaryChannel(self as unknown as NodeJS.Process),
    cut() {
      connected = false;
      processes.emit('disconnect', worker);
      self.emit('disconnect');
    },
  };
}
