import { LRUCache } from 'lru-cache';
import type { JobsContext } from '../context.ts';
import { noResults, resultsNotReady, tooManyResults } from '../errors.ts';
import { type EndedJob, hasEnded, type JobDocument } from '../job.ts';
import { type Archive, type ArchiveEntry, openArchive } from './archive.ts';

/** Most files of one archive. */
export const MAX_ARCHIVE_FILES = 10_000;
const ITEMS_A_READ = 1_000;
/** The most files of archives whose layout is remembered: some 15 MB. */
const REMEMBERED_FILES = 30_000;
/** How long a layout is remembered: a source whose name is in it may be deleted meanwhile. */
const REMEMBERED_MS = 60_000;
const FILE_EXTENSIONS: Readonly<Record<string, string>> = { jpeg: 'jpg', tiff: 'tif' };
const UNSAFE_IN_NAMES = /[\p{Cc}\p{Bidi_Control}\p{Surrogate}/\\:*?"<>|]/gu;
const MAX_NAME_CHARACTERS = 100;

interface Result {
  index: number;
  sourceId: string | null;
  resultId: string;
}

type ResultsContext = Pick<JobsContext, 'items' | 'assets'>;

/** The pictures that a job made, as one archive. */
export class JobResults {
  readonly #context: ResultsContext;
  /** By job and number of its outputs: once it has ended, they only get fewer. */
  readonly #archives = new LRUCache<string, Promise<Archive>>({
    maxSize: REMEMBERED_FILES,
    ttl: REMEMBERED_MS,
  });

  constructor(context: ResultsContext) {
    this.#context = context;
  }

  /**
   * The archive of a job that has ended, in the order of its items. Results that were deleted since are left out.
   * @throws ApiError invalid_state when the job has not ended, made no picture, or made too many.
   */
  async openArchive(job: JobDocument): Promise<Archive> {
    if (!hasEnded(job)) throw resultsNotReady(job.status);
    const key = `${job._id}/${await this.#context.assets.countOfJob(job.accountId, job._id)}`;
    const known = this.#archives.get(key);
    if (known !== undefined) return known;
    const archive = this.#layOut(job);
    this.#archives.set(key, archive, { size: Math.max(1, job.totalItems) });
    archive.catch(() => this.#archives.delete(key));
    return archive;
  }

  /**
   * Looks at the first item that completed, before a link is given out.
   * @throws ApiError invalid_state when the job has ended and made no picture.
   */
  async checkAny(job: JobDocument): Promise<void> {
    if (!hasEnded(job)) return;
    // All items of a job make pictures, or none does.
    const [first] = await this.#context.items.first(job._id, 1, 'COMPLETED');
    if (first?.outcome?.resultAssetId === undefined) throw noResults();
  }

  async #madeBy({ _id }: EndedJob): Promise<Result[]> {
    const made: Result[] = [];
    const fields = ['index', 'assetId', 'outcome'] as const;
    for await (const part of this.#context.items.parts(_id, ['COMPLETED'], ITEMS_A_READ, fields)) {
      for (const { index, assetId: sourceId, outcome } of part) {
        const resultId = outcome?.resultAssetId;
        if (resultId !== undefined) made.push({ index, sourceId, resultId });
      }
      if (made.length > MAX_ARCHIVE_FILES) throw tooManyResults(MAX_ARCHIVE_FILES);
    }
    return made;
  }

  async #layOut(job: EndedJob): Promise<Archive> {
    const made = await this.#madeBy(job);
    const ids = made.flatMap(({ sourceId, resultId }) =>
      sourceId === null ? [resultId] : [sourceId, resultId],
    );
    const pictures = await this.#context.assets.pictures(job.accountId, ids);
    const digits = String(Math.max(0, job.totalItems - 1)).length;
    const entries = made.flatMap(({ index, sourceId, resultId }): ArchiveEntry[] => {
      const picture = pictures.get(resultId);
      if (picture === undefined) return [];
      const { digest, sizeBytes, format } = picture;
      const sourceName = pictures.get(sourceId ?? '')?.name ?? null;
      const name = fileName(String(index).padStart(digits, '0'), sourceName, format);
      const checksum = (signal: AbortSignal) => this.#context.assets.checksum(picture, signal);
      return [
        { name, digest, sizeBytes, checksum, open: (range) => this.#context.assets.open(picture, range) },
      ];
    });
    if (entries.length === 0) throw noResults();
    return openArchive(entries, new Date(job.completedAt));
  }
}

/** `007-beach.webp`: the item's index, the name of its source, and the extension of its result. */
export function fileName(index: string, sourceName: string | null, format: string): string {
  const stem = (sourceName ?? '')
    .replace(/\.[^.]{1,5}$/, '')
    .replace(UNSAFE_IN_NAMES, '_')
    .slice(0, MAX_NAME_CHARACTERS)
    .toWellFormed();
  return `${index}${stem === '' ? '' : `-${stem}`}.${FILE_EXTENSIONS[format] ?? format}`;
}
