import { setImmediate as nextTurn } from 'node:timers/promises';
import { ApiError, invalidParamError } from './http/errors/errors.ts';
import { firstFreeSlug, reservedSlugMessage } from './ids/slugs.ts';
import {
  type DocumentCollection,
  type DocumentWithId,
  DuplicateKeyError,
  type IndexSpec,
  sortBy,
} from './stores/documents/port.ts';
import { SLOT_INDEX, shuffledFreeSlots } from './stores/documents/slots.ts';

/**
 * A named document of an account, such as a template or a preset. The number of documents is limited, and each has a
 * slug that is unique in the account. Two unique indexes enforce both rules, even for concurrent writes.
 */
export interface NamedDocument extends DocumentWithId {
  accountId: string;
  slug: string;
  /** The number of the document's slot in the account, from 0. */
  slot: number;
  updatedAt: string;
  version: number;
  /** Increases with every save, even of the name alone. */
  revision?: number;
}

/** The indexes of a named collection: the limits, and the order of its listing. */
export const NAMED_DOCUMENT_INDEXES: readonly IndexSpec[] = [
  { name: 'slug', fields: sortBy('accountId', 'slug'), unique: true },
  SLOT_INDEX,
  { name: 'updated', fields: sortBy('accountId', '-updatedAt', '-_id') },
];

/** A document that has neither a slot nor its final slug yet. */
interface DocumentDraft<T extends NamedDocument> {
  document: Omit<T, 'accountId' | 'slug' | 'slot'>;
  slug: string;
  /** Whether a taken slug gets a numeric suffix; otherwise the draft is refused. */
  takesSuffix: boolean;
}

/**
 * The most attempts of a save. In each round, one of several concurrent saves succeeds, so a save can only fail if more
 * saves than this compete.
 */
const MAX_UPDATE_ATTEMPTS = 400;

/** What differs between the kinds of named documents, such as presets. */
export interface ResourceKind {
  /** The noun for one document in messages, such as `preset`. */
  noun: string;
  /** The most documents of this kind that an account may have. */
  limit: number;
  /** The field that every save changes. A save only takes effect if the field still has the value that was read. */
  guard: 'revision' | 'version';
}

/**
 * The store of the named documents of one kind. Each method takes an account first, and returns only documents of this
 * account.
 */
export class NamedDocuments<T extends NamedDocument> {
  readonly #collection: DocumentCollection<T>;
  readonly #kind: ResourceKind;

  constructor(collection: DocumentCollection<T>, kind: ResourceKind) {
    this.#collection = collection;
    this.#kind = kind;
  }

  /** The document with this id or slug. An id contains `_` and a slug does not, so only one can match. */
  find(accountId: string, idOrSlug: string): Promise<T | null> {
    const named = idOrSlug.includes('_') ? { _id: idOrSlug } : { slug: idOrSlug };
    return this.#collection.findOne({ accountId, ...named });
  }

  /** The slugs of the account's documents. */
  async slugs(accountId: string): Promise<string[]> {
    const rows = await this.#collection.find({ accountId }, { fields: ['slug'] });
    return rows.map(({ slug }) => slug);
  }

  /**
   * Sets the fields that `revise` returns for the current document. `revise` is called again when another write was
   * faster, and returns null when nothing changes. The result is null when there is no such document.
   * @throws ApiError invalid_param on slug when another document has it; any error of `revise`.
   */
  async update(
    accountId: string,
    idOrSlug: string,
    revise: (current: T) => Promise<(Partial<T> & { slug: string }) | null>,
  ): Promise<T | null> {
    const { guard } = this.#kind;
    for (let round = 0; round < MAX_UPDATE_ATTEMPTS; round++) {
      const current = await this.find(accountId, idOrSlug);
      if (current === null) return null;
      const fields = await revise(current);
      if (fields === null) return current;
      try {
        const unchanged = { _id: current._id, accountId, [guard]: current[guard] };
        const { matched } = await this.#collection.updateOne(unchanged, { $set: { ...fields } });
        if (matched === 1) return { ...current, ...fields };
      } catch (error) {
        throw error instanceof DuplicateKeyError ? slugTakenError(this.#kind, fields.slug) : error;
      }
    }
    throw contendedError(this.#kind);
  }

  /**
   * Stores all of the drafts, in order, or none. When another write takes a slot or a slug first, the next free one is
   * tried. When concurrent inserts together exceed the limit, all of them may be refused. If the process crashes
   * meanwhile, the drafts that were already stored remain.
   * @throws ApiError resource_limit_exceeded; invalid_param on slug if a slug is taken and the draft takes no suffix.
   */
  async insert(accountId: string, drafts: readonly DocumentDraft<T>[]): Promise<T[]> {
    if (drafts.length === 0) return [];
    const stored = new Map<DocumentDraft<T>, T>();
    try {
      // In each round, one of several concurrent writes succeeds. A write can therefore run out of rounds only if more
      // writes than rounds compete.
      for (let round = 0; round < 2 * this.#kind.limit; round++) {
        const waiting = drafts.filter((draft) => !stored.has(draft));
        const candidates = await this.#assignSlots(accountId, waiting);
        const { duplicates } = await this.#collection.insertMany(candidates);
        const refused = new Set(duplicates);
        waiting.forEach((draft, index) => {
          const document = candidates[index];
          if (document !== undefined && !refused.has(index)) stored.set(draft, document);
        });
        if (refused.size === 0) return drafts.flatMap((draft) => stored.get(draft) ?? []);
      }
      throw contendedError(this.#kind);
    } catch (error) {
      const ids = Array.from(stored.values(), ({ _id }) => _id);
      if (ids.length > 0) await this.#collection.deleteMany({ accountId, _id: { $in: ids } });
      throw error;
    }
  }

  /** Gives each draft a slot and a slug that are free now. */
  async #assignSlots(accountId: string, drafts: readonly DocumentDraft<T>[]): Promise<T[]> {
    const existing = await this.#collection.find({ accountId }, { fields: ['slug', 'slot'] });
    const slots = shuffledFreeSlots(this.#kind.limit, existing);
    if (drafts.length > slots.length) throw tooManyDocumentsError(this.#kind, slots.length);
    const slugs = new Set(existing.map(({ slug }) => slug));
    return drafts.map((draft, index) => {
      if (!draft.takesSuffix && slugs.has(draft.slug)) throw slugTakenError(this.#kind, draft.slug);
      const slug = firstFreeSlug(draft.slug, slugs);
      slugs.add(slug);
      return { ...draft.document, accountId, slug, slot: slots[index] } as T;
    });
  }
}

/**
 * Refuses a slug that is reserved. The schema has already checked its form.
 * @throws ApiError invalid_param on slug.
 */
export function refuseReservedSlug({ noun }: ResourceKind, slug: string): void {
  const refusal = reservedSlugMessage(slug, `${noun}s`);
  if (refusal !== null) throw invalidParamError('slug', refusal);
}

/** The error 400: another document of the account has this slug. */
function slugTakenError({ noun }: ResourceKind, slug: string): ApiError {
  const message = `slug "${slug}" is already one of your ${noun}s': send another, or leave it out to have one made.`;
  return invalidParamError('slug', message);
}

/** The error 422: the account would exceed its number of documents. */
function tooManyDocumentsError({ noun, limit }: ResourceKind, left: number): ApiError {
  const message = `An account holds at most ${limit} ${noun}s and ${left} are left: delete some, or send fewer.`;
  return new ApiError('resource_limit_exceeded', message, { details: { limit, left } });
}

/** The error 500, retryable: concurrent writes to the same document were faster in every attempt. */
function contendedError({ noun }: ResourceKind): ApiError {
  const message = `Too many calls changed the same ${noun} at once: repeat the same call.`;
  return new ApiError('internal_error', message, { details: { reason: 'contention' }, retryAfterSeconds: 1 });
}

/** An entry of an import that was refused, with its index as sent. */
interface RefusedImportEntry {
  index: number;
  error: ApiError;
}

/**
 * Refuses an import of more than ten times the entries that an account may have. A smaller import is read, even if most
 * of its entries are then refused.
 * @throws ApiError resource_limit_exceeded.
 */
export function checkImportEntryCount({ limit }: ResourceKind, count: number): void {
  const maxEntries = 10 * limit;
  if (count <= maxEntries) return;
  const message = `The import has ${count} entries, and at most ${maxEntries} are read: nothing was imported, send fewer.`;
  throw new ApiError('resource_limit_exceeded', message, { details: { limit: maxEntries, received: count } });
}

/**
 * Divides the entries of an import into those that `check` accepts and those that it refuses. Each keeps its index as
 * it was sent. The event loop serves other calls between two entries.
 */
export async function partitionEntries<E, T>(
  entries: Iterable<[number, E]>,
  check: (entry: E) => T | Promise<T>,
): Promise<{ accepted: [number, T][]; refused: RefusedImportEntry[] }> {
  const accepted: [number, T][] = [];
  const refused: RefusedImportEntry[] = [];
  for (const [index, entry] of entries) {
    try {
      accepted.push([index, await check(entry)]);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status >= 500) throw error;
      refused.push({ index, error });
    }
    await nextTurn();
  }
  return { accepted, refused };
}
