import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { envelopeSchemaOf, successEnvelope } from '../../../platform/http/envelope.ts';
import { addWarnings } from '../../../platform/http/hooks/warnings.ts';
import type { LinkSigner } from '../../../platform/http/signatures.ts';
import type { ByteRange } from '../../../platform/values/byte-range.ts';
import { type CallGate, MAX_CONCURRENT_DOWNLOADS } from '../../accounts/gate/gate.ts';
import { isSignedLinkRequest, signedLinkQuery, verifySignedLink } from '../../assets/content/links.ts';
import { sendFileOrRange } from '../../assets/content/sending.ts';
import { linkExpiry } from '../../assets/rules.ts';
import { AssetLink, AssetLinkQuery } from '../../assets/schema.ts';
import type { JobReader } from '../reading.ts';
import { JobParams, JobResultsQuery } from '../schema.ts';
import { type JobResults, MAX_ARCHIVE_FILES } from './results.ts';

export interface ResultRoutesOptions {
  gate: CallGate;
  reading: JobReader;
  results: JobResults;
  signatures: LinkSigner;
  publicUrl: () => string;
  now: () => Date;
}

const GRANT = 'job-results';
const TYPE = 'application/zip';

/** The route for all pictures of a job in one download. */
export async function resultRoutes(app: FastifyInstance, options: ResultRoutesOptions): Promise<void> {
  const { gate, reading, results, signatures, publicUrl, now } = options;

  app.get<{ Params: JobParams; Querystring: JobResultsQuery }>(
    '/jobs/:jobId/results.zip',
    {
      config: {
        access: 'public',
        ignoresCredential: isSignedLinkRequest,
        responseType: TYPE,
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
      const job = await reading.find(readerOf(request), request.params.jobId);
      const { attempts, expires } = request.query;
      const jobs = attempts === 'all' ? await reading.attempts(job) : [job];
      const { sizeBytes, etag, stream } = await results.openArchive(jobs);
      addWarnings(reply, await results.findWarnings(jobs));
      const file = {
        type: TYPE,
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
      await results.checkAny(job);
      addWarnings(reply, await results.findWarnings([job]));
      const { _id } = job;
      const expiresAt = linkExpiry(request.query, now());
      const link = signedLinkQuery(signatures, { grant: GRANT, id: _id }, accountId, expiresAt);
      const url = `${publicUrl()}/api/v1/jobs/${_id}/results.zip?${link}`;
      return successEnvelope('Link made.', { url, expiresAt: expiresAt.toISOString() });
    },
  );

  /**
   * Takes the slots of a download. One by a link takes a second slot for links, so that links never take all downloads
   * of an account.
   */
  async function takeSlots(request: FastifyRequest, reply: FastifyReply, accountId: string): Promise<void> {
    if (isSignedLinkRequest(request)) await gate.takeSlot(request, reply, 'linkDownloads', accountId);
    await gate.takeSlot(request, reply, 'downloads', accountId);
  }

  /** The account whose job may be read: that of the link, else the caller's. */
  function readerOf(request: FastifyRequest<{ Params: JobParams; Querystring: JobResultsQuery }>): string {
    if (!isSignedLinkRequest(request)) return gate.requireCaller(request).accountId;
    return verifySignedLink(signatures, { grant: GRANT, id: request.params.jobId }, request.query, now());
  }
}
