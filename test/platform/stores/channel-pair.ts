import {
  channelHostOverLinks,
  channelOverLink,
  type PrimaryChannel,
  type PrimaryChannelHost,
} from '../../../src/platform/stores/embedded/channel.ts';

interface ChannelPair {
  host: PrimaryChannelHost;
  channel: PrimaryChannel;
  /** Ends the link, as the death of the primary does. */
  cut(): void;
}

/** Both ends in one process, with the same frames and the same JSON between them as between two: for tests. */
export function channelPair(processId = 1): ChannelPair {
  const toHost: Array<(processId: number, message: unknown) => void> = [];
  const toChannel: Array<(message: unknown) => void> = [];
  const whenGone: Array<() => void> = [];
  let connected = true;

  function deliver(message: unknown, receive: (message: unknown) => void): void {
    const text = JSON.stringify(message);
    setImmediate(() => {
      if (connected) receive(JSON.parse(text));
    });
  }

  const host = channelHostOverLinks({
    send: (_processId, message) =>
      deliver(message, (copy) => {
        for (const receive of toChannel) receive(copy);
      }),
    onMessage: (listener) => toHost.push(listener),
    onGone: (listener) => whenGone.push(() => listener(processId)),
  });
  const channel = channelOverLink({
    send: (message) =>
      deliver(message, (copy) => {
        for (const receive of toHost) receive(processId, copy);
      }),
    onMessage: (listener) => toChannel.push(listener),
    onGone: (listener) => whenGone.push(listener),
  });
  return {
    host,
    channel,
    cut() {
      connected = false;
      for (const gone of whenGone) gone();
    },
  };
}
