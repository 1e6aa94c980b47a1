import { Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import { envelopeSchemaOf, pageSchemaOf, successEnvelope } from '../../platform/http/envelope.ts';
import { ApiError } from '../../platform/http/errors/errors.ts';
import type { CallGate } from '../accounts/gate/gate.ts';
import { parseRequestFilters } from './filters.ts';
import {
  RequestErrorGroup,
  RequestFilterQuery,
  RequestListQuery,
  RequestParams,
  RequestRecord,
} from './schema.ts';
import type { RequestSearch } from './search.ts';

/** The routes of an account's recent calls. Calls to these routes are not listed. */
export async function requestRoutes(
  app: FastifyInstance,
  { gate, search }: { gate: CallGate; search: RequestSearch },
): Promise<void> {
  app.get<{ Querystring: RequestListQuery }>(
    '/requests',
    {
      config: { isUnlisted: true },
      schema: {
        summary: 'List recent requests',
        description:
          'Newest first: the last 1,000 of the last hour, of every key and session of the account. They are kept in memory, without bodies and secrets, until the service restarts. Calls of these lists are not in them, nor are calls without a credential that was accepted.',
        querystring: RequestListQuery,
        response: { 200: pageSchemaOf(RequestRecord) },
      },
    },
    async (request) => {
      const { accountId } = gate.requireCaller(request);
      const { rows, meta } = await search.list(accountId, parseRequestFilters(request.query), request.query);
      return successEnvelope('Requests listed.', rows, meta);
    },
  );

  app.get<{ Querystring: RequestFilterQuery }>(
    '/requests/errors',
    {
      config: { isUnlisted: true },
      schema: {
        summary: 'Group recent errors',
        description:
          'The refused calls among the recent requests, by operation, code, reason and parameter, the most frequent first. Not paged.',
        querystring: RequestFilterQuery,
        response: { 200: envelopeSchemaOf(Type.Array(RequestErrorGroup)) },
      },
    },
    async (request) => {
      const { accountId } = gate.requireCaller(request);
      return successEnvelope(
        'Errors grouped.',
        await search.errors(accountId, parseRequestFilters(request.query)),
      );
    },
  );

  app.get<{ Params: RequestParams }>(
    '/requests/:requestId',
    {
      config: { isUnlisted: true },
      schema: {
        summary: 'Read a recent request',
        description: 'By the X-Request-Id of its answer; the last one, if several had it.',
        params: RequestParams,
        response: { 200: envelopeSchemaOf(RequestRecord) },
      },
    },
    async (request) => {
      const { accountId } = gate.requireCaller(request);
      const found = await search.find(accountId, request.params.requestId);
      if (found === null) throw requestNotFound();
      return successEnvelope('Request read.', found);
    },
  );
}

function requestNotFound(): ApiError {
  return new ApiError(
    'not_found',
    'No recent request of this account has this id: the last 1,000 are kept for an hour, see GET /api/v1/requests.',
    { param: 'requestId' },
  );
}
