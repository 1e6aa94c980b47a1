import type { Coordination } from '../../platform/stores/coordination/port.ts';
import { type Preset, presetCacheTagOf } from './preset.ts';

const GONE = 'presets/gone';

/** Deleted versions of a preset, as the tags of the pictures that they made. */
interface GoneVersions {
  accountId: string;
  tags: string[];
}

/** Announces to every process which preset versions were deleted. A message may be lost. */
export class PresetRemovals {
  readonly #coordination: Pick<Coordination, 'publish' | 'subscribe'>;

  constructor(coordination: Pick<Coordination, 'publish' | 'subscribe'>) {
    this.#coordination = coordination;
  }

  /**
   * Announces deleted versions.
   * @returns the tags that a cache in front of the service has to purge.
   */
  async announce(accountId: string, { _id }: Preset, versions: readonly number[]): Promise<string[]> {
    const tags = versions.map((version) => presetCacheTagOf(_id, version));
    const gone: GoneVersions = { accountId, tags };
    // If the message is lost, the pictures stay in the caches of other processes, but are never served.
    await this.#coordination.publish(GONE, JSON.stringify(gone)).catch(() => undefined);
    return tags;
  }

  /**
   * Calls a listener whenever any process has deleted versions.
   * @returns a function that removes the listener.
   */
  onRemoved(listener: (accountId: string, tags: readonly string[]) => void): Promise<() => void> {
    return this.#coordination.subscribe(GONE, (message) => {
      const { accountId, tags } = JSON.parse(message) as GoneVersions;
      listener(accountId, tags);
    });
  }
}
