import type { Channel, ChannelHost } from '../embedded/channel.ts';
import type { IndexMaker } from './mongodb.ts';
import type { CollectionSpec } from './port.ts';

const SERVICE = 'indexes';

/** An API process's side: its primary makes the indexes, once for all processes of the host. */
export function indexesOverChannel(channel: Channel): IndexMaker {
  return async (spec) => {
    await channel.call(SERVICE, 'create', [spec]);
  };
}

/** The primary's side. What was made is not made again; what failed is made when the next process asks. */
export function provideIndexes(host: ChannelHost, makeIndexes: IndexMaker): void {
  const made = new Map<string, Promise<void>>();
  host.provide(SERVICE, (_method, [spec]) => {
    const key = JSON.stringify(spec);
    const making = made.get(key) ?? makeIndexes(spec as CollectionSpec);
    made.set(key, making);
    making.catch(() => made.delete(key));
    return making;
  });
}
