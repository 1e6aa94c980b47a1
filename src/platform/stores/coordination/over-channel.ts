import type { Channel, ChannelHost } from '../embedded/channel.ts';
import type { EmbeddedCoordination } from './embedded.ts';
import { createListeners, type ListenerLog } from './listeners.ts';
import type { Coordination } from './port.ts';

const SERVICE = 'coordination';

/**
 * The methods that an API process calls in the primary. Subscriptions are local, because every message reaches every
 * process.
 */
const ASKED = [
  'admit',
  'strike',
  'giveBackStrike',
  'mark',
  'takeShared',
  'releaseSlot',
  'renewSlot',
  'releaseSlotsOf',
  'beginIdempotent',
  'keepIdempotent',
  'forgetIdempotent',
  'lease',
  'endLease',
  'schedule',
  'claimDue',
  'renewDue',
  'settleDue',
  'releaseDueOf',
  'publish',
  'time',
  'ping',
] as const satisfies ReadonlyArray<keyof Coordination>;

type Asked = (typeof ASKED)[number];

interface Message {
  channel: string;
  message: string;
}

/** The side of an API process: coordination in its primary. Closing it does not close the primary's. */
export function coordinationOverChannel(channel: Channel, log?: ListenerLog): Coordination {
  const listeners = createListeners(log);
  const stopHearing = channel.on(SERVICE, (event) => {
    const { channel: name, message } = event as Message;
    listeners.deliver(name, message);
  });
  const asked = Object.fromEntries(
    ASKED.map((method) => [method, (...args: unknown[]) => channel.call(SERVICE, method, args)]),
  ) as Pick<Coordination, Asked>;
  return {
    ...asked,
    subscribe: async (name, listener) => listeners.add(name, listener),
    close: async () => stopHearing(),
  };
}

/** The primary's side. */
export function provideCoordination(host: ChannelHost, coordination: EmbeddedCoordination): void {
  host.provide(SERVICE, async (method, args) => {
    const name = ASKED.find((asked) => asked === method);
    if (name === undefined) throw new Error(`Coordination answers no ${method}.`);
    const ask = coordination[name] as (...args: readonly unknown[]) => Promise<unknown>;
    return ask.apply(coordination, [...args]);
  });
  coordination.observe((channel, message) => host.broadcast(SERVICE, { channel, message } satisfies Message));
}
