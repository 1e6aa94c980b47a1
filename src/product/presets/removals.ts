import type { Coordination } from '../../platform/stores/coordination/port.ts';
import { type Preset, presetCacheTagOf } from './preset.ts';

const REMOVED_VERSIONS_CHANNEL = 'presets/gone';

/** The message that versions of a preset were deleted. It contains the cache tags of their pictures. */
interface RemovedVersions {
  accountId: string;
  tags: string[];
}

/**
 * Announces to every process that versions of a preset were deleted. The message may be lost.
 * @returns the tags that a CDN must purge.
 */
export async function announceRemovedVersions(
  coordination: Pick<Coordination, 'publish'>,
  accountId: string,
  { _id }: Preset,
  versions: readonly number[],
): Promise<string[]> {
  const tags = versions.map((version) => presetCacheTagOf(_id, version));
  const gone: RemovedVersions = { accountId, tags };
  // If the message is lost, the pictures stay in the memory of other processes, but are not served any more.
  await coordination.publish(REMOVED_VERSIONS_CHANNEL, JSON.stringify(gone)).catch(() => undefined);
  return tags;
}

/**
 * Calls a listener whenever any process has deleted versions of a preset.
 * @returns a function that removes the listener.
 */
export function onRemovedVersions(
  coordination: Pick<Coordination, 'subscribe'>,
  listener: (accountId: string, tags: readonly string[]) => void,
): Promise<() => void> {
  return coordination.subscribe(REMOVED_VERSIONS_CHANNEL, (message) => {
    const { accountId, tags } = JSON.parse(message) as RemovedVersions;
    listener(accountId, tags);
  });
}
