import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { openZipArchive, type ZipArchive, type ZipArchiveEntry } from '../../platform/archive.ts';
import { envelopeSchemaOf, successEnvelope } from '../../platform/http/envelope.ts';
import { addWarnings, type CallWarning } from '../../platform/http/hooks/warnings.ts';
import type { ByteRange } from '../../platform/stores/objects/port.ts';
import { type CallGate, MAX_CONCURRENT_DOWNLOADS } from '../accounts/gate/gate.ts';
import { type AccountLinks, isSignedLinkRequest } from '../assets/content/links.ts';
import { openAssetContent } from '../assets/content/reader.ts';
import { sendFileOrRange } from '../assets/content/sending.ts';
import { linkExpiry } from '../assets/rules.ts';
import { AssetLink, AssetLinkQuery } from '../assets/schema.ts';
import type { JobsContext } from './context.ts';
import { sandboxWarningsOf } from './definitions.ts';
import { noResultsError, resultsNotReadyError, tooManyResultsError } from './errors.ts';
import { type EndedJob, hasEnded, type JobDocument } from './job.ts';
import type { JobReader } from './reading.ts';
import { JobParams, JobResultsQuery } from './schema.ts';

interface ResultRoutesOptions {
  gate: CallGate;
  reading: JobReader;
  results: JobResults;
  links: AccountLinks;
  now: () => Date;
}

const ZIP_TYPE = 'application/zip';

/** The route of a download of all pictures of a job, as one archive. */
export async function resultRoutes(app: FastifyInstance, options: ResultRoutesOptions): Promise<void> {
  const { gate, reading, results, links, now } = options;

  app.get<{ Params: JobParams; Querystring: JobResultsQuery }>(
    '/jobs/:jobId/results.zip',
    {
      config: {
        access: 'public',
        ignoresCredential: isSignedLinkRequest,
        responseType: ZIP_TYPE,
        fixedWord: true,
      },
      schema: {
        summary: 'Download all results',
        description: `One ZIP archive of the pictures that a job made once it has ended, stored as they are, named by index, by the name of their source and by their variant; at most ${MAX_ARCHIVE_FILES} files. X-Service-Warnings says \`sandbox_model:<model>\` where a model of the sandbox invented some. With a credential, or without one by a signed link. Answers single ranges, so that a download can resume where it broke off. An account may have ${MAX_CONCURRENT_DOWNLOADS} downloads at a time, one of them by a link; more are refused with 429 and details.reason account_concurrency.`,
        security: [{ apiKey: [] }, { session: [] }, {}],
        params: JobParams,
        querystring: JobResultsQuery,
      },
    },
    async (request, reply) => {
      const job = await reading.find(requireAccountId(request), request.params.jobId);
      const { attempts, expires } = request.query;
      const jobs = attempts === 'all' ? await reading.findAttempts(job) : [job];
      const { sizeBytes, etag, stream } = await results.openArchive(jobs);
      addWarnings(reply, await results.findWarnings(jobs));
      const file = {
        type: ZIP_TYPE,
        sizeBytes,
        etag,
        ends: [
          ...jobs.map(({ expiresAt }) => Date.parse(expiresAt)),
          expires === undefined ? null : Number(expires),
        ],
        headers: { 'content-disposition': `attachment; filename="${job._id}.zip"` },
        async open(range: ByteRange | null) {
          await takeSlots(request, reply, job.accountId);
          return stream(range);
        },
      };
      return sendFileOrRange(request, reply, file, now().getTime());
    },
  );

  app.get<{ Params: JobParams; Querystring: AssetLinkQuery }>(
    '/jobs/:jobId/results/link',
    {
      schema: {
        summary: 'Make a link to results',
        description:
          'The link downloads results.zip without a credential until it expires. A job that ended without a picture has none.',
        params: JobParams,
        querystring: AssetLinkQuery,
        response: { 200: envelopeSchemaOf(AssetLink) },
      },
    },
    async (request, reply) => {
      const { accountId } = gate.requireCaller(request);
      const job = await reading.find(accountId, request.params.jobId);
      await results.checkHasPicture(job);
      addWarnings(reply, await results.findWarnings([job]));
      const { _id } = job;
      const expiresAt = linkExpiry(request.query, now());
      const granted = { grant: 'job-results', id: _id } as const;
      const url = links.urlOf(`/jobs/${_id}/results.zip`, granted, accountId, expiresAt);
      return successEnvelope('Link made.', { url, expiresAt: expiresAt.toISOString() });
    },
  );

  /**
   * Takes the slots of a download. A download by a signed link takes a second slot of its own kind, so that links
   * cannot use up all downloads of an account.
   */
  async function takeSlots(request: FastifyRequest, reply: FastifyReply, accountId: string): Promise<void> {
    if (isSignedLinkRequest(request)) await gate.takeSlot(request, reply, 'linkDownloads', accountId);
    await gate.takeSlot(request, reply, 'downloads', accountId);
  }

  /** The account whose job may be read: that of the signed link, or else that of the caller. */
  function requireAccountId(
    request: FastifyRequest<{ Params: JobParams; Querystring: JobResultsQuery }>,
  ): string {
    if (!isSignedLinkRequest(request)) return gate.requireCaller(request).accountId;
    return links.requireOwner({ grant: 'job-results', id: request.params.jobId }, request.query);
  }
}

const MAX_ARCHIVE_FILES = 10_000;
const ITEMS_PER_READ = 1_000;
/** The maximum number of files in all cached archives together. Their entries take about 15 MB of memory. */
const MAX_CACHED_FILES = 30_000;
/**
 * The TTL of a cached archive, in milliseconds. It is short, because an archive contains the names of source assets,
 * which may be deleted.
 */
const ARCHIVE_CACHE_TTL_MS = 60_000;
const EXTENSIONS_UNLIKE_FORMAT: Readonly<Record<string, string>> = { jpeg: 'jpg', tiff: 'tif' };
const UNSAFE_NAME_CHARACTERS_PATTERN = /[\p{Cc}\p{Bidi_Control}\p{Surrogate}/\\:*?"<>|]/gu;
const MAX_NAME_CHARACTERS = 100;

interface JobResult {
  /** The index that the item had in the first attempt. */
  index: number;
  sourceId: string | null;
  resultId: string;
  variant: string | undefined;
}

type ResultsContext = Pick<JobsContext, 'definitions' | 'items' | 'assets' | 'objects'>;

/** Makes one archive of the result pictures of a job. */
export class JobResults {
  readonly #context: ResultsContext;
  /**
   * The archives by job id and number of outputs. That number changes when outputs are deleted after the end of the
   * job.
   */
  readonly #archives = new LRUCache<string, Promise<ZipArchive>>({
    maxSize: MAX_CACHED_FILES,
    ttl: ARCHIVE_CACHE_TTL_MS,
  });

  constructor(context: ResultsContext) {
    this.#context = context;
  }

  /**
   * Opens the archive of one job, or of all attempts of a job, in the order of the items. Results that were deleted are
   * left out.
   * @param jobs one job, or all attempts of a job in order. All of them must have ended.
   * @throws ApiError invalid_state when a job has not ended, and when there are no pictures or too many.
   */
  async openArchive(jobs: readonly JobDocument[]): Promise<ZipArchive> {
    const ended = jobs.map((job) => {
      if (!hasEnded(job)) throw resultsNotReadyError(job);
      return job;
    });
    const { store } = this.#context.assets;
    const counts = await Promise.all(ended.map(({ accountId, _id }) => store.countOutputs(accountId, _id)));
    const key = ended.map(({ _id }, index) => `${_id}/${counts[index]}`).join(' ');
    const cached = this.#archives.get(key);
    if (cached !== undefined) return cached;
    const archive = this.#buildArchive(ended);
    const totalItems = ended.reduce((sum, job) => sum + job.totalItems, 0);
    this.#archives.set(key, archive, { size: Math.max(1, totalItems) });
    archive.catch(() => this.#archives.delete(key));
    return archive;
  }

  /**
   * Checks that a job can have a picture, before a link to its results is returned.
   * @throws ApiError invalid_state when the job has ended without a picture.
   */
  async checkHasPicture(job: JobDocument): Promise<void> {
    if (!hasEnded(job)) return;
    // Either all items of a job make pictures, or none do, so that one item is enough to find out.
    const [first] = await this.#context.items.findFirst(job._id, 1, 'COMPLETED');
    if (first?.outcome?.resultAssetId === undefined) throw noResultsError();
  }

  /** The warnings about the pictures of these jobs: which sandbox models invented them. */
  async findWarnings(jobs: readonly JobDocument[]): Promise<CallWarning[]> {
    const invented = jobs.filter(({ sandbox }) => sandbox === true);
    const definitions = await Promise.all(invented.map(({ _id }) => this.#context.definitions.find(_id)));
    return definitions.flatMap(({ variants }) => sandboxWarningsOf(variants));
  }

  /**
   * The results of these attempts, in the order of their items. If two attempts have a result for the same item, that
   * of the later one is taken.
   */
  async #findResults(attempts: readonly EndedJob[]): Promise<JobResult[]> {
    const results = new Map<number, JobResult>();
    const fields = ['index', 'rootIndex', 'assetId', 'variant', 'outcome'] as const;
    for (const { _id } of attempts) {
      const { variants } = await this.#context.definitions.find(_id);
      for await (const batch of this.#context.items.readBatches(_id, ['COMPLETED'], ITEMS_PER_READ, fields)) {
        for (const { index: own, rootIndex, assetId: sourceId, variant, outcome } of batch) {
          const resultId = outcome?.resultAssetId;
          const index = attempts.length > 1 ? (rootIndex ?? own) : own;
          if (resultId !== undefined)
            results.set(index, { index, sourceId, resultId, variant: variants[variant]?.name });
        }
        if (results.size > MAX_ARCHIVE_FILES) throw tooManyResultsError(MAX_ARCHIVE_FILES);
      }
    }
    return [...results.values()].sort((one, other) => one.index - other.index);
  }

  async #buildArchive(jobs: readonly EndedJob[]): Promise<ZipArchive> {
    const [first] = jobs;
    if (first === undefined) throw noResultsError();
    const { accountId, totalItems } = first;
    const results = await this.#findResults(jobs);
    const ids = results.flatMap(({ sourceId, resultId }) =>
      sourceId === null ? [resultId] : [sourceId, resultId],
    );
    const { assets, objects } = this.#context;
    const pictures = await assets.store.findStoredContents(accountId, ids);
    const digits = String(Math.max(0, totalItems - 1)).length;
    const entries = results.flatMap(({ index, sourceId, resultId, variant }): ZipArchiveEntry[] => {
      const picture = pictures.get(resultId);
      if (picture === undefined) return [];
      const { digest, sizeBytes, crc32: checksum, format } = picture;
      const sourceName = pictures.get(sourceId ?? '')?.name ?? null;
      const name = resultFileName(String(index).padStart(digits, '0'), [sourceName, variant], format);
      const open = async (range: ByteRange) => (await openAssetContent(objects, picture, range)).body;
      return [{ name, digest, sizeBytes, checksum, open }];
    });
    if (entries.length === 0) throw noResultsError();
    const modifiedAt = new Date(Math.max(...jobs.map(({ completedAt }) => Date.parse(completedAt))));
    return openZipArchive(entries, modifiedAt);
  }
}

/**
 * The name of a result in the archive, such as `007-beach-small.webp`: the index of the item, the name of its source,
 * the name of its variant, and the extension.
 * @param names the name of the source and that of the variant.
 */
export function resultFileName(
  index: string,
  [sourceName, variant]: readonly [string | null, string | undefined],
  format: string,
): string {
  const stem = (sourceName ?? '').replace(/\.[^.]{1,5}$/, '');
  const parts = [index, safeFileName(stem), safeFileName(variant ?? '')].filter((part) => part !== '');
  return `${parts.join('-')}.${EXTENSIONS_UNLIKE_FORMAT[format] ?? format}`;
}

function safeFileName(name: string): string {
  return name.replace(UNSAFE_NAME_CHARACTERS_PATTERN, '_').slice(0, MAX_NAME_CHARACTERS).toWellFormed();
}
