import type { FastifyInstance } from 'fastify';
import { sendCreated } from '../../platform/http/created.ts';
import { envelopeSchemaOf, pageSchemaOf, successEnvelope } from '../../platform/http/envelope.ts';
import type { CallGate } from '../accounts/gate/gate.ts';
import { feedbackReportOf } from './rules.ts';
import { Feedback, FeedbackQuery, FeedbackRequest } from './schema.ts';
import type { FeedbackStore } from './store.ts';

export interface FeedbackRoutesOptions {
  store: FeedbackStore;
  gate: CallGate;
  now: () => Date;
}

/** The routes of reports about gaps and bugs, from agents and people. */
export async function feedbackRoutes(
  app: FastifyInstance,
  { store, gate, now }: FeedbackRoutesOptions,
): Promise<void> {
  app.get<{ Querystring: FeedbackQuery }>(
    '/feedback',
    {
      schema: {
        summary: 'List your reports',
        description: 'Newest first.',
        querystring: FeedbackQuery,
        response: { 200: pageSchemaOf(Feedback) },
      },
    },
    async (request) => {
      const { rows, meta } = await store.list(gate.requireCaller(request).accountId, request.query);
      return successEnvelope('Reports listed.', rows, meta);
    },
  );

  app.post<{ Body: FeedbackRequest }>(
    '/feedback',
    {
      config: { idempotency: 'kept' },
      schema: {
        summary: 'Report a gap or a bug',
        description: 'Free: it costs no credit and starts no job.',
        body: FeedbackRequest,
        response: { 201: envelopeSchemaOf(Feedback) },
      },
    },
    async (request, reply) => {
      const report = feedbackReportOf(request.body);
      const feedback = await store.insert(gate.requireCaller(request), report, now());
      return sendCreated(reply, '/feedback', 'Report filed.', feedback);
    },
  );
}
