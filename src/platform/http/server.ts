import { maxHeaderSize } from 'node:http';
import fastJson, { type Schema } from 'fast-json-stringify';
import Fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import type { Logger } from 'pino';
import type { SettingsOf } from '../setting.ts';
import { installBodyReading } from './bodies/parsing.ts';
import type { httpSettings } from './config.ts';
import { warnOfUntrustedProxy } from './connection/client.ts';
import { limitPipelining, limitSmallChunks } from './connection/limits.ts';
import {
  answerUnparsableRequest,
  decorateWithUnreadablePaths,
  findPathRefusal,
  refuseConnectRequests,
  refuseExpectHeaders,
  requireOneHostHeader,
} from './connection/unreadable.ts';
import { asApiError, installErrorHandler, sendApiError } from './errors/failures.ts';
import { type IntendedCallFinder, installUnknownRoutes } from './errors/unknown-routes.ts';
import { installValidation } from './errors/validation.ts';
import { installCaching, installCompression, installNotModified } from './hooks/caching.ts';
import { installCors } from './hooks/cors.ts';
import { installNegotiation } from './hooks/negotiation.ts';
import { chooseRequestId, installAccessLog, installRequestIds, RequestLog } from './hooks/request-log.ts';
import { installFieldWarnings, installMisplacedFields, refuseMisspeltDryRuns } from './hooks/sent-fields.ts';
import { lazy } from './lazy.ts';

/**
 * Creates a server without routes, with the hooks and error handlers of all routes.
 * @param findMeantCalls finds the calls that were probably meant by the last part of an unknown path.
 */
export function createHttpServer(
  settings: SettingsOf<typeof httpSettings>,
  log: Logger,
  findMeantCalls: IntendedCallFinder,
): FastifyInstance {
  const server = createFastify(settings, log);
  limitPipelining(server.server);
  server.server.on('request', (request) => limitSmallChunks(request));
  installRequestIds(server);
  requireOneHostHeader(server);
  installCors(server, settings.CORS_ORIGINS);
  warnOfUntrustedProxy(server, settings.TRUST_PROXY);
  installUnknownRoutes(server, findMeantCalls);
  decorateWithUnreadablePaths(server);
  installErrorHandler(server);
  installValidation(server);
  installSerialization(server);
  installNegotiation(server);
  installBodyReading(server);
  installAccessLog(server, log);
  installCaching(server);
  installCompression(server);
  installNotModified(server);
  installMisplacedFields(server);
  refuseMisspeltDryRuns(server);
  installFieldWarnings(server);
  refuseExpectHeaders(server.server);
  refuseConnectRequests(server.server);
  return server;
}

function createFastify(http: SettingsOf<typeof httpSettings>, log: Logger): FastifyInstance {
  return Fastify({
    // A logger whose `child` is cheap is used instead of a factory of child loggers, because Fastify would check the
    // methods of each child that a factory makes.
    loggerInstance: new RequestLog(() => log as FastifyBaseLogger) as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    requestIdHeader: false,
    genReqId: chooseRequestId,
    trustProxy:
      http.TRUST_PROXY === '' ? false : http.TRUST_PROXY.split(',').map((network) => network.trim()),
    keepAliveTimeout: http.IDLE_TIMEOUT_MS,
    connectionTimeout: http.STALL_TIMEOUT_MS,
    clientErrorHandler: answerUnparsableRequest,
    requestTimeout: http.BODY_TIMEOUT_MS,
    http: {
      // Node.js refuses a longer time for the headers than for the whole request, and compares the two at once.
      requestTimeout: http.BODY_TIMEOUT_MS,
      headersTimeout: Math.min(http.HEADERS_TIMEOUT_MS, http.BODY_TIMEOUT_MS),
      connectionsCheckingInterval: 1_000,
      requireHostHeader: false,
    },
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    bodyLimit: Number.MAX_SAFE_INTEGER,
    // A parameter may be as long as a whole path, because the routes refuse invalid ids themselves.
    routerOptions: { maxParamLength: maxHeaderSize, ignoreTrailingSlash: false },
    frameworkErrors: (error, request, reply) =>
      sendApiError(request, reply, findPathRefusal(request) ?? asApiError(error)),
  });
}

/** Serializes every response by its schema. A schema is compiled at its first response. */
function installSerialization(server: FastifyInstance): void {
  server.setSerializerCompiler(({ schema }) => {
    const compiled = lazy(() => fastJson(schema as Schema));
    return (data) => compiled()(data);
  });
}

/** The actual address of the server, used if no public address is configured. */
export function serverUrl(server: FastifyInstance, host: string): string {
  const address = server.server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
