import type { FastifyInstance } from 'fastify';
import {
  envelopeSchemaOf,
  pageSchemaOf,
  sendCreated,
  successEnvelope,
} from '../../platform/http/envelope.ts';
import { invalidParamError } from '../../platform/http/errors/errors.ts';
import { hasMoreCharacters, requireAllowed } from '../../platform/http/fields.ts';
import { PageQuery, type PagingQuery } from '../../platform/http/lists.ts';
import { sendLongAnswer } from '../../platform/http/long-answers.ts';
import type { ProductSlice } from '../../platform/http/slice.ts';
import type { DocumentStore } from '../../platform/stores/documents/port.ts';
import type { CallGate } from '../accounts/gate/gate.ts';
import {
  FEEDBACK_KINDS,
  Feedback,
  FeedbackRequest,
  MAX_FEEDBACK_CONTEXT_CHARACTERS,
  MAX_FEEDBACK_MESSAGE_CHARACTERS,
} from './schema.ts';
import { type FeedbackReport, FeedbackStore } from './store.ts';

interface FeedbackOptions {
  documents: DocumentStore;
  gate: CallGate;
  now: () => Date;
}

/** Opens the feedback slice, which stores reports of agents and people about gaps and bugs. */
export function openFeedback(options: FeedbackOptions): ProductSlice {
  const store = new FeedbackStore(options.documents);
  return { routes: async (app) => feedbackRoutes(app, store, options) };
}

function feedbackRoutes(app: FastifyInstance, store: FeedbackStore, { gate, now }: FeedbackOptions): void {
  app.get<{ Querystring: PagingQuery }>(
    '/feedback',
    {
      schema: {
        summary: 'List your reports',
        description: 'Newest first.',
        querystring: PageQuery,
        response: { 200: pageSchemaOf(Feedback) },
      },
    },
    async (request, reply) => {
      const { accountId } = gate.requireCaller(request);
      const { rows, meta } = await store.list(accountId, request.query);
      return sendLongAnswer(reply, accountId, successEnvelope('Reports listed.', rows, meta));
    },
  );

  app.post<{ Body: FeedbackRequest }>(
    '/feedback',
    {
      config: { idempotency: 'kept', needsFreeSpace: true },
      schema: {
        summary: 'Report a gap or a bug',
        description: 'Free: it costs no credit and starts no job.',
        body: FeedbackRequest,
        response: { 201: envelopeSchemaOf(Feedback) },
      },
    },
    async (request, reply) => {
      const report = parseFeedbackReport(request.body);
      const feedback = await store.insert(gate.requireCaller(request), report, now());
      return sendCreated(reply, '/feedback', 'Report filed.', feedback);
    },
  );
}

/**
 * Checks a report, and returns it as it is stored: its kind in lower case, its message trimmed.
 * @throws ApiError invalid_param on kind, message or context.
 */
function parseFeedbackReport({ kind, message: sent, ...rest }: FeedbackRequest): FeedbackReport {
  const checkedKind = requireAllowed('kind', kind.toLowerCase(), FEEDBACK_KINDS);
  const message = sent.trim();
  if (message === '')
    throw invalidParamError('message', 'message is blank: say what happened or what is missing.');
  refuseLongText('message', 'message', message, MAX_FEEDBACK_MESSAGE_CHARACTERS);
  const context = rest.context === undefined ? '' : JSON.stringify(rest.context);
  refuseLongText('context', 'context as JSON', context, MAX_FEEDBACK_CONTEXT_CHARACTERS);
  return { ...rest, kind: checkedKind, message };
}

function refuseLongText(param: string, what: string, text: string, limit: number): void {
  if (!hasMoreCharacters(text, limit)) return;
  throw invalidParamError(param, `${what} is too long: at most ${limit} characters are allowed.`, { limit });
}
