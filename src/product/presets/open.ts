import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { LRUCache } from 'lru-cache';
import type { ImagePass } from '../../../workers/protocol.ts';
import type { ProductSlice } from '../../platform/http/slice.ts';
import { slugFromName } from '../../platform/ids/slugs.ts';
import type { Coordination } from '../../platform/stores/coordination/port.ts';
import type { DocumentStore } from '../../platform/stores/documents/port.ts';
import { type StepWarning, stepWarningsOf } from '../catalogue/checks/warnings.ts';
import { compilePreset } from '../catalogue/plan/compile.ts';
import { currentPresetVersion } from './preset.ts';
import { type FoundPreset, findPreset } from './reading.ts';
import { onRemovedVersions } from './removals.ts';
import { type PresetRoutesOptions, presetRoutes } from './routes.ts';
import { parseRunnablePresetContent } from './rules.ts';
import type { NewPreset } from './schema.ts';
import { PresetsStore } from './store.ts';

interface PresetsOptions extends Omit<PresetRoutesOptions, 'store'> {
  documents: DocumentStore;
  coordination: Pick<Coordination, 'publish' | 'subscribe'>;
}

export interface PresetsSlice extends ProductSlice {
  /**
   * The pass of a preset for a synchronous call.
   * @throws ApiError preset_not_found; invalid_param on preset if the version is malformed, or if the preset is more
   * than one pass: it runs a model, or reads a second asset.
   */
  findPass(accountId: string, reference: string, inputs?: object): Promise<PresetPass>;
  /** Finds the preset and the version to which a call refers. The errors are those of `findPreset`. */
  find(accountId: string, reference: string, param: string): Promise<FoundPreset>;
  /**
   * Saves a preset, unless one with the same steps and widths was already saved in this way. The slug contains a hash
   * of the content, by which the preset is found again.
   * @param where the prefix of field names in errors.
   * @throws ApiError invalid_param on the step at fault, or resource_limit_exceeded.
   */
  saveOnce(accountId: string, sent: NewPreset, where: string): Promise<FoundPreset>;
  /** Calls a listener whenever a process has deleted versions of presets. */
  onRemoved(listener: Parameters<typeof onRemovedVersions>[1]): Promise<() => void>;
}

/** The pass of a preset for POST /images/transform, and the warnings about its steps. */
interface PresetPass {
  pass: ImagePass;
  warnings: StepWarning[];
}

/** The number of characters of the content's hash in the slug of a preset that `saveOnce` makes. */
const SLUG_HASH_CHARACTERS = 12;
/** The maximum number of compiled versions that a process caches. Each takes a few kilobytes. */
const MAX_CACHED_PASSES = 1_000;

export function openPresets({ documents, ...options }: PresetsOptions): PresetsSlice {
  const store = new PresetsStore(documents);
  /**
   * The compiled passes by preset version. They stay correct, because versions never change. The error for a version
   * that cannot be compiled is not cached.
   */
  const passes = new LRUCache<string, PresetPass>({ max: MAX_CACHED_PASSES });
  return {
    async findPass(accountId, reference, inputs) {
      const { preset, version } = await findPreset(store, accountId, reference, 'preset');
      const key = `${preset._id}@${version.version}`;
      const kept = passes.get(key);
      if (kept !== undefined) return kept;
      const compiled = compilePreset(version.steps, 'preset', options.models, {
        presetId: reference,
        ...inputs,
      });
      const made = { pass: compiled.pass, warnings: stepWarningsOf([compiled]) };
      passes.set(key, made);
      return made;
    },
    find: (accountId, reference, param) => findPreset(store, accountId, reference, param),
    async saveOnce(accountId, sent, where) {
      const content = await parseRunnablePresetContent(sent, accountId, options, where);
      const stem = slugFromName(sent.name, 'preset');
      const slug = `${stem}-${hash('sha256', JSON.stringify(content), 'hex').slice(0, SLUG_HASH_CHARACTERS)}`;
      const known = await store.find(accountId, slug);
      const { steps, widths } = known ?? {};
      const isSame = isDeepStrictEqual([steps, widths], [content.steps, content.widths]);
      const draft = { name: sent.name, description: '', version: 1, history: [], slug, takesSuffix: true };
      const preset =
        known !== null && isSame
          ? known
          : await store.insertOne(accountId, { ...draft, ...content }, options.now());
      return { preset, version: currentPresetVersion(preset) };
    },
    onRemoved: (listener) => onRemovedVersions(options.coordination, listener),
    routes: (app) => presetRoutes(app, { store, ...options }),
  };
}
