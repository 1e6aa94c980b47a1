import { collectParts, type OnLongRead, ROWS_PER_READ } from '../../platform/http/lists.ts';
import { newId } from '../../platform/ids/ids.ts';
import {
  NAMED_DOCUMENT_INDEXES,
  type NamedDocument,
  NamedDocuments,
  type ResourceKind,
} from '../../platform/named-documents.ts';
import {
  type DeclaredCollection,
  type DocumentCollection,
  type DocumentStore,
  sortBy,
} from '../../platform/stores/documents/port.ts';
import { withoutAbsentFields } from '../../platform/values/present.ts';
import { tooManyPresetVersionsError } from './errors.ts';
import { currentPresetVersion, type Preset, type PresetContent, type PresetVersion } from './preset.ts';
import { MAX_PRESET_VERSIONS } from './schema.ts';

/**
 * The limits of presets as a stored resource: at most 1000 per account. The field `revision` guards a preset against
 * concurrent writes.
 */
export const PRESET_KIND: ResourceKind = { noun: 'preset', limit: 1000, guard: 'revision' };

/**
 * The content as JSON text. It is not stored as an object, because some of its keys have a meaning to a store, such as
 * a schema's `$ref` or a key with a dot.
 */
type StoredContent<T extends PresetContent> = Omit<T, keyof PresetContent> & { content: string };

interface PresetDocument extends StoredContent<Preset>, NamedDocument {
  revision: number;
}

interface PresetVersionDocument extends StoredContent<PresetVersion> {
  /**
   * `<preset id>@<version>`. It is the primary key, so that a stored version cannot be stored again with other content.
   */
  _id: string;
  accountId: string;
  presetId: string;
}

/** A preset that is about to be stored, with its earlier versions. */
export interface PresetDraft extends Pick<Preset, 'name' | 'description' | 'version' | keyof PresetContent> {
  slug: string;
  /** Whether a numeric suffix is added to a slug that is taken. Otherwise the draft is refused. */
  takesSuffix: boolean;
  /** Earlier versions, oldest first. */
  history: PresetVersion[];
}

/** The fields of a preset that a change replaces. */
export type PresetRevision = Pick<Preset, 'slug' | 'name' | 'description' | keyof PresetContent>;

export const PRESETS_COLLECTION: DeclaredCollection = {
  name: 'presets',
  indexes: NAMED_DOCUMENT_INDEXES,
  onAccountDeletion: 'delete',
};
export const PRESET_VERSIONS_COLLECTION: DeclaredCollection = {
  name: 'presetVersions',
  indexes: [{ name: 'preset', fields: sortBy('accountId', 'presetId', 'version') }],
  onAccountDeletion: 'delete',
};

/** The store of presets. Each method takes the account first and returns only its presets. */
export class PresetsStore {
  readonly #presets: DocumentCollection<PresetDocument>;
  readonly #named: NamedDocuments<PresetDocument>;
  readonly #versions: DocumentCollection<PresetVersionDocument>;

  constructor(documents: DocumentStore) {
    this.#presets = documents.collection(PRESETS_COLLECTION);
    this.#named = new NamedDocuments(this.#presets, PRESET_KIND);
    this.#versions = documents.collection(PRESET_VERSIONS_COLLECTION);
  }

  async find(accountId: string, idOrSlug: string): Promise<Preset | null> {
    const found = await this.#named.find(accountId, idOrSlug);
    return found && presetOf(found);
  }

  /** The ids of an account's presets, the most recently updated first. */
  async listIds(accountId: string): Promise<string[]> {
    const sort = sortBy('-updatedAt', '-_id');
    const rows = await this.#presets.find({ accountId }, { sort, fields: ['_id'] });
    return rows.map(({ _id }) => _id);
  }

  listSlugs(accountId: string): Promise<string[]> {
    return this.#named.slugs(accountId);
  }

  /** The presets with these ids, in the order of the ids. Ids of missing presets are skipped. */
  async findAll(accountId: string, ids: readonly string[]): Promise<Preset[]> {
    const rows = await this.#presets.find({ accountId, _id: { $in: [...ids] } });
    return rows.map(presetOf).sort((a, b) => ids.indexOf(a._id) - ids.indexOf(b._id));
  }

  /** One version of a preset, current or earlier; null if it is not stored. */
  async findVersion(accountId: string, preset: Preset, version: number): Promise<PresetVersion | null> {
    if (version === preset.version) return currentPresetVersion(preset);
    if (!preset.superseded.includes(version)) return null;
    const found = await this.#versions.findOne({ _id: versionId(preset._id, version), accountId });
    return found && versionOf(found);
  }

  /**
   * The earlier versions of a preset, oldest first. They may have 25 MB.
   * @throws the error of `onLong`.
   */
  findHistory(accountId: string, preset: Preset, onLong?: OnLongRead): Promise<PresetVersion[]> {
    return collectParts(accountId, this.#readHistory(accountId, preset), onLong);
  }

  /** Yields the earlier versions of a preset in parts, because one version may have 512 KB. */
  async *#readHistory(accountId: string, { _id, superseded }: Preset): AsyncGenerator<PresetVersion[]> {
    let after = 0;
    while (superseded.some((version) => version > after)) {
      const filter = { accountId, presetId: _id, version: { $gt: after } };
      const part = await this.#versions.find(filter, { sort: sortBy('version'), limit: ROWS_PER_READ });
      yield part.filter(({ version }) => superseded.includes(version)).map(versionOf);
      after = part.at(-1)?.version ?? Number.POSITIVE_INFINITY;
    }
  }

  /** Stores one draft. The errors are those of `insert`. */
  async insertOne(accountId: string, draft: PresetDraft, now: Date): Promise<Preset> {
    const [preset] = await this.insert(accountId, [draft], now);
    return preset as Preset;
  }

  /**
   * Stores all drafts, in order, or none of them. Earlier versions are stored before their preset, so that a stored
   * preset never lacks a version.
   * @throws ApiError resource_limit_exceeded; invalid_param on slug when the slug is taken and the draft takes no
   * suffix.
   */
  async insert(accountId: string, drafts: readonly PresetDraft[], now: Date): Promise<Preset[]> {
    const named = drafts.map((draft) => ({
      document: newDocument(draft, now),
      slug: draft.slug,
      takesSuffix: draft.takesSuffix,
    }));
    const versions = named.flatMap(({ document: { _id } }, index) =>
      (drafts[index]?.history ?? []).map((version) => versionDocument(accountId, _id, version)),
    );
    if (versions.length > 0) await this.#versions.insertMany(versions);
    try {
      return (await this.#named.insert(accountId, named)).map(presetOf);
    } catch (error) {
      if (versions.length > 0) {
        await this.#versions.deleteMany({ accountId, _id: { $in: versions.map(({ _id }) => _id) } });
      }
      throw error;
    }
  }

  /**
   * Changes a preset. `revise` gets the current preset, and returns what to save; null if nothing changes. It is called
   * again when another write was faster. Changed content becomes the next version. The result is null when there is no
   * such preset.
   *
   * The current version is first stored under its own key. Then the document is updated, on the condition that its
   * revision is unchanged. If the process crashes in between, the next save reuses the stored version.
   * @throws ApiError invalid_param on slug when another preset has it; resource_limit_exceeded on steps; any error of
   * `revise`.
   */
  async update(
    accountId: string,
    idOrSlug: string,
    revise: (current: Preset) => Promise<{ revision: PresetRevision; isNewVersion: boolean } | null>,
    now: Date,
  ): Promise<Preset | null> {
    const saved = await this.#named.update(accountId, idOrSlug, async (document) => {
      const current = presetOf(document);
      const revised = await revise(current);
      if (revised === null) return null;
      const { _id, ...next } = storedContentOf(nextVersion(current, revised, now));
      if (revised.isNewVersion)
        await this.#versions.insertMany([versionDocument(accountId, _id, currentPresetVersion(current))]);
      return { ...next, revision: document.revision + 1 };
    });
    return saved && presetOf(saved);
  }

  /**
   * Deletes a preset with all its versions, and returns the preset; null when there is none. The preset itself is
   * deleted first: if a crash leaves versions behind, nobody can reach them.
   */
  async remove(accountId: string, idOrSlug: string): Promise<Preset | null> {
    const preset = await this.find(accountId, idOrSlug);
    if (preset === null) return null;
    const deleted = await this.#presets.deleteOne({ _id: preset._id, accountId });
    await this.#versions.deleteMany({ accountId, presetId: preset._id });
    return deleted === 1 ? preset : null;
  }

  /** Deletes an earlier version; false when it is not stored. */
  async removeVersion(accountId: string, presetId: string, version: number): Promise<boolean> {
    const stored = { _id: presetId, accountId, superseded: { $elemMatch: { $eq: version } } };
    const removal = { $pull: { superseded: version }, $inc: { revision: 1 } };
    const { matched } = await this.#presets.updateOne(stored, removal);
    // The preset does not list the version. It may be a version that a concurrent save has just stored, so it is not
    // deleted.
    if (matched === 0) return false;
    await this.#versions.deleteOne({ _id: versionId(presetId, version), accountId });
    return true;
  }
}

function newDocument(draft: PresetDraft, now: Date): Omit<PresetDocument, 'accountId' | 'slug' | 'slot'> {
  const { name, description, version, steps, subjects, widths, fallback, history } = draft;
  const at = now.toISOString();
  const superseded = history.map((stored) => stored.version);
  const instants = { versionSavedAt: at, createdAt: at, updatedAt: at };
  const _id = newId('pre', now.getTime());
  return {
    ...storedContentOf({
      ...{ _id, name, description, version, steps, subjects, superseded },
      ...withoutAbsentFields({ widths, fallback }),
      ...instants,
    }),
    revision: 1,
  };
}

/**
 * @throws ApiError resource_limit_exceeded when the preset already has the maximum number of versions.
 */
function nextVersion(
  current: Preset,
  { revision, isNewVersion }: { revision: PresetRevision; isNewVersion: boolean },
  now: Date,
): Preset {
  const updatedAt = now.toISOString();
  const renamed = { ...current, ...revision, updatedAt };
  if (!isNewVersion) return renamed;
  const superseded = [...current.superseded, current.version];
  if (superseded.length >= MAX_PRESET_VERSIONS) throw tooManyPresetVersionsError();
  return { ...renamed, version: current.version + 1, versionSavedAt: updatedAt, superseded };
}

function versionId(presetId: string, version: number): string {
  return `${presetId}@${version}`;
}

function versionDocument(accountId: string, presetId: string, version: PresetVersion): PresetVersionDocument {
  return { _id: versionId(presetId, version.version), accountId, presetId, ...storedContentOf(version) };
}

function storedContentOf<T extends PresetContent>(preset: T): StoredContent<T> {
  const { steps, subjects, widths, fallback, ...rest } = preset;
  return { ...rest, content: JSON.stringify({ steps, subjects, widths, fallback }) };
}

function presetOf({ content, accountId: _, slot: __, revision: ___, ...rest }: PresetDocument): Preset {
  return { ...rest, ...(JSON.parse(content) as PresetContent) };
}

function versionOf({ version, content, updatedAt }: PresetVersionDocument): PresetVersion {
  return { version, ...(JSON.parse(content) as PresetContent), updatedAt };
}
