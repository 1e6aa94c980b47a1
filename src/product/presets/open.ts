import type { Slice } from '../../platform/http/slice.ts';
import type { Documents } from '../../platform/stores/documents/port.ts';
import { type FoundPreset, findPreset } from './reading.ts';
import { type PresetRoutesOptions, presetRoutes } from './routes.ts';
import { PresetsStore } from './store.ts';
import { createPresetPass, type PresetPass } from './transform-pass.ts';

export interface PresetsOptions extends Omit<PresetRoutesOptions, 'store'> {
  documents: Documents;
}

export interface Presets extends Slice {
  store: PresetsStore;
  /** The single pass of a preset that runs while its caller waits; see transform-pass.ts for the errors. */
  passOf: PresetPass;
  /** The preset and the version that a call names; see reading.ts for the errors. */
  find(accountId: string, reference: string, param: string): Promise<FoundPreset>;
}

export async function openPresets({ documents, ...options }: PresetsOptions): Promise<Presets> {
  const store = await PresetsStore.open(documents);
  return {
    store,
    passOf: createPresetPass(store, options.models),
    find: (accountId, reference, param) => findPreset(store, accountId, reference, param),
    routes: (app) => presetRoutes(app, { store, ...options }),
  };
}
