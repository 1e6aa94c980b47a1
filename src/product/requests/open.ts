import { Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import { envelopeSchemaOf, pageSchemaOf, successEnvelope } from '../../platform/http/envelope.ts';
import { ApiError } from '../../platform/http/errors/errors.ts';
import { createRowWriter, sendLongAnswer } from '../../platform/http/long-answers.ts';
import type { ProductSlice } from '../../platform/http/slice.ts';
import type { ProcessParts } from '../../platform/process-parts.ts';
import { callerOrNull } from '../accounts/authentication.ts';
import type { CallGate } from '../accounts/gate/gate.ts';
import { keptRequestOf } from './kept-request.ts';
import { RecentRequests } from './recent-requests.ts';
import {
  RequestErrorGroup,
  RequestFilterQuery,
  RequestListQuery,
  RequestParams,
  RequestRecord,
} from './schema.ts';
import { answerRequestSearches, parseRequestFilters, RequestSearch } from './search.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether calls of the route are missing from the account's list of recent requests. */
    isUnlisted?: true;
  }
}

interface RequestsOptions extends Pick<ProcessParts, 'coordination' | 'hostId' | 'processId' | 'now'> {
  gate: CallGate;
}

/**
 * Opens the slice of recent requests. Each process remembers the requests that it answered, and a search queries all
 * processes. `install` records the calls of all routes of `app`, if the caller is known.
 */
export async function openRequests(
  options: RequestsOptions,
): Promise<ProductSlice & { install(app: FastifyInstance): void }> {
  const { gate, coordination, hostId, processId, now } = options;
  const recent = new RecentRequests();
  const search = new RequestSearch(coordination);
  const stopAnswering = await answerRequestSearches(coordination, recent, `${hostId}/${processId}`, now);
  return {
    install(app) {
      app.addHook('onResponse', (request, reply, done) => {
        const caller = callerOrNull(request);
        // The options of a route are read once, because Fastify copies them at each access.
        const { url: route, config } = request.routeOptions;
        if (caller !== null && route !== undefined && !config.isUnlisted) {
          const { accountId, apiKeyId } = caller;
          recent.add(accountId, keptRequestOf(request, reply, { route, apiKeyId, atMs: now().getTime() }));
        }
        done();
      });
    },
    routes: async (app) => requestRoutes(app, gate, search),
    stop: async () => stopAnswering(),
  };
}

const writeRecord = createRowWriter(RequestRecord);
const writeErrorGroup = createRowWriter(RequestErrorGroup);

/** The routes that list and group an account's recent calls. Calls of these routes themselves are not recorded. */
function requestRoutes(app: FastifyInstance, gate: CallGate, search: RequestSearch): void {
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
    async (request, reply) => {
      const { accountId } = gate.requireCaller(request);
      const { rows, meta } = await search.list(accountId, parseRequestFilters(request.query), request.query);
      const data = rows.values().map(writeRecord);
      return sendLongAnswer(reply, accountId, successEnvelope('Requests listed.', data, meta));
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
    async (request, reply) => {
      const { accountId } = gate.requireCaller(request);
      const groups = await search.findErrorGroups(accountId, parseRequestFilters(request.query));
      const data = groups.values().map(writeErrorGroup);
      return sendLongAnswer(reply, accountId, successEnvelope('Errors grouped.', data));
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
      if (found === null)
        throw new ApiError(
          'not_found',
          'No recent request of this account has this id: the last 1,000 are kept for an hour, see GET /api/v1/requests.',
          { param: 'requestId' },
        );
      return successEnvelope('Request read.', found);
    },
  );
}
