import type { Channel, ChannelHost } from '../embedded/channel.ts';
import type { EmbeddedCoordination } from './embedded.ts';
import { type ListenerLog, Listeners } from './listeners.ts';
import type { Coordination } from './port.ts';

const SERVICE = 'coordination';

/**
 * The methods that an API process calls in the primary. Subscriptions are local, because every message reaches every
 * process.
 */
const REMOTE_METHODS = [
  'admit',
  'strike',
  'giveBackStrike',
  'setFlag',
  'takeShared',
  'releaseSlot',
  'renewSlot',
  'releaseSlotsByPrefix',
  'beginIdempotent',
  'keepIdempotent',
  'forgetIdempotent',
  'lease',
  'endLease',
  'schedule',
  'claimDue',
  'renewDue',
  'settleDue',
  'releaseDueByPrefix',
  'publish',
  'time',
  'ping',
] as const satisfies ReadonlyArray<keyof Coordination>;

type RemoteMethod = (typeof REMOTE_METHODS)[number];

interface Message {
  channel: string;
  message: string;
}

/** The side of an API process: coordination in its primary. Closing it does not close the primary's. */
export function coordinationOverChannel(channel: Channel, log?: ListenerLog): Coordination {
  const listeners = new Listeners(log);
  const unsubscribe = channel.on(SERVICE, (event) => {
    const { channel: name, message } = event as Message;
    listeners.deliver(name, message);
  });
  const methods = Object.fromEntries(
    REMOTE_METHODS.map((method) => [method, (...args: unknown[]) => channel.call(SERVICE, method, args)]),
  ) as Pick<Coordination, RemoteMethod>;
  return {
    ...methods,
    subscribe: async (name, listener) => listeners.add(name, listener),
    close: async () => unsubscribe(),
  };
}

/** The primary's side. */
export function provideCoordination(host: ChannelHost, coordination: EmbeddedCoordination): void {
  host.provide(SERVICE, async (method, args) => {
    const name = REMOTE_METHODS.find((called) => called === method);
    if (name === undefined) throw new Error(`Coordination has no method ${method}.`);
    const call = coordination[name] as (...args: readonly unknown[]) => Promise<unknown>;
    return call.apply(coordination, [...args]);
  });
  coordination.observe((channel, message) => host.broadcast(SERVICE, { channel, message } satisfies Message));
}
