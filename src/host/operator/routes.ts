import { Type } from '@sinclair/typebox';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { envelopeSchemaOf, successEnvelope } from '../../platform/http/envelope.ts';
import { ApiError, invalidParamError } from '../../platform/http/errors/errors.ts';
import type { Coordination } from '../../platform/stores/coordination/port.ts';
import { CommandUsageError, parseArguments } from '../admin/command.ts';
import { LIVE_COMMANDS } from '../admin/live-commands.ts';
import type { OperatorAccess } from './access.ts';
import type { DoctorExamination } from './examination.ts';
import type { BenchReports } from './reports.ts';
import {
  BenchRunParams,
  BenchRuns,
  BenchRunsQuery,
  DoctorFindings,
  DoctorFindingsQuery,
  DrainBody,
  LogLevelBody,
  OperatorCommandResult,
  OperatorReport,
  OperatorSessionBody,
  OperatorState,
  OperatorStateQuery,
  SettingChangeBody,
} from './schema.ts';
import { readOperatorState } from './state.ts';

interface OperatorRoutesOptions {
  access: OperatorAccess;
  coordination: Coordination;
  reports: BenchReports;
  examination: DoctorExamination;
}

/** The operator authenticates by OPERATOR_TOKEN, or by the cookie of a session. */
const OPERATOR_SECURITY = [{ operator: [] }];

const OPERATOR_ROUTES = [
  installSessionRoute,
  installSessionEndRoute,
  installStateRoute,
  installSettingRoute,
  installReplaceRoute,
  installLogLevelRoute,
  installFindingsRoute,
  installRunsRoute,
  installRunRoute,
];

/** The operator's interface: what `npm run admin` and `npm run doctor` offer, over HTTP. */
export async function operatorRoutes(app: FastifyInstance, options: OperatorRoutesOptions): Promise<void> {
  options.access.install(app);
  app.addHook('onRoute', ({ schema = {} }) => {
    schema.security ??= OPERATOR_SECURITY;
  });
  for (const route of OPERATOR_ROUTES) route(app, options);
}

function installSessionRoute(app: FastifyInstance, { access }: OperatorRoutesOptions): void {
  app.post<{ Body: OperatorSessionBody }>(
    '/session',
    {
      config: { opensOperatorSession: true },
      schema: {
        summary: 'Open a session of the operator',
        description:
          'By OPERATOR_TOKEN, or by a one-time link of `npm run admin -- console --operator`. The session is a cookie that scripts cannot read; changes by it need the header X-Console.',
        security: [],
        body: OperatorSessionBody,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const { token, link } = request.body;
      if ((token === undefined) === (link === undefined))
        throw invalidParamError(
          'token',
          'Send the token of the operator, or the secret of a one-time link as link.',
        );
      await access.signIn(request, reply, link === undefined ? { token: token ?? '' } : { link });
      return reply.code(204).send();
    },
  );
}

function installSessionEndRoute(app: FastifyInstance, { access }: OperatorRoutesOptions): void {
  app.delete(
    '/session',
    {
      schema: {
        summary: 'End the session of the operator',
        description: 'Its cookie is refused from the next call on.',
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      await access.signOut(request, reply);
      return reply.code(204).send();
    },
  );
}

function installStateRoute(app: FastifyInstance, { coordination }: OperatorRoutesOptions): void {
  app.get<{ Querystring: OperatorStateQuery }>(
    '/state',
    {
      config: { compress: true },
      schema: {
        summary: 'The service now, and in the last hour',
        description:
          'Every process of every host, what is most likely wrong, and samples of the load since `after`. Ask again with the last instant that you have.',
        querystring: OperatorStateQuery,
        response: { 200: envelopeSchemaOf(OperatorState) },
      },
    },
    async ({ query: { after = 0 } }) =>
      successEnvelope('How the service is.', await readOperatorState(coordination, after)),
  );
}

function installSettingRoute(app: FastifyInstance, { coordination }: OperatorRoutesOptions): void {
  app.post<{ Body: SettingChangeBody }>(
    '/settings',
    {
      schema: {
        summary: 'Change a setting of the running service',
        description:
          'On every host and without a failed call, as `npm run admin -- set` does; until the next start.',
        body: SettingChangeBody,
        response: { 200: envelopeSchemaOf(OperatorCommandResult) },
      },
    },
    async (request) => {
      const { setting, value, save = false, yes = false } = request.body;
      const words = [`${setting}=${value}`, ...(save ? ['--save'] : []), ...(yes ? ['--yes'] : [])];
      return runCommand(request, coordination, { name: 'set', words, param: 'value' });
    },
  );
}

function installReplaceRoute(app: FastifyInstance, { coordination }: OperatorRoutesOptions): void {
  app.post<{ Body: DrainBody }>(
    '/drains',
    {
      schema: {
        summary: 'Replace a process',
        description: 'A new one takes calls before the old one ends, as with `npm run admin -- drain`.',
        body: DrainBody,
        response: { 200: envelopeSchemaOf(OperatorCommandResult) },
      },
    },
    async (request) =>
      runCommand(request, coordination, { name: 'drain', words: [request.body.process], param: 'process' }),
  );
}

function installLogLevelRoute(app: FastifyInstance, { coordination }: OperatorRoutesOptions): void {
  app.post<{ Body: LogLevelBody }>(
    '/log-level',
    {
      schema: {
        summary: 'Change the log level of every process',
        description: 'For good or for a time, as `npm run admin -- log` does.',
        body: LogLevelBody,
        response: { 200: envelopeSchemaOf(OperatorCommandResult) },
      },
    },
    async (request) => {
      const { level, for: time } = request.body;
      const words = time === undefined ? [level] : [level, '--for', time];
      const param = time === undefined ? 'level' : 'for';
      return runCommand(request, coordination, { name: 'log', words, param });
    },
  );
}

function installFindingsRoute(app: FastifyInstance, { examination }: OperatorRoutesOptions): void {
  app.get<{ Querystring: DoctorFindingsQuery }>(
    '/findings',
    {
      schema: {
        summary: 'What the doctor finds',
        description:
          'Examines the host that answers, as `npm run doctor` does, with the remedy of each problem. It takes seconds.',
        querystring: DoctorFindingsQuery,
        response: { 200: envelopeSchemaOf(DoctorFindings) },
      },
    },
    async ({ query: { fresh = false } }) => successEnvelope('What was found.', await examination.read(fresh)),
  );
}

function installRunsRoute(app: FastifyInstance, { reports }: OperatorRoutesOptions): void {
  app.get<{ Querystring: BenchRunsQuery }>(
    '/runs',
    {
      config: { compress: true },
      schema: {
        summary: 'Reports of bench and tune',
        description: 'The reports of the folder RESULTS_DIR, the newest first.',
        querystring: BenchRunsQuery,
        response: { 200: envelopeSchemaOf(BenchRuns) },
      },
    },
    async ({ query }) => successEnvelope('Runs.', { folder: reports.folder, ...(await reports.list(query)) }),
  );
}

function installRunRoute(app: FastifyInstance, { reports }: OperatorRoutesOptions): void {
  app.get<{ Params: BenchRunParams }>(
    '/runs/:name',
    {
      schema: {
        summary: 'One report',
        description: 'The report as bench or tune wrote it, without an envelope.',
        params: BenchRunParams,
        response: { 200: OperatorReport },
      },
    },
    async ({ params }, reply) => {
      const { bytes, stream } = await reports.read(params.name);
      return reply.header('content-length', bytes).type('application/json').send(stream);
    },
  );
}

/**
 * Runs a command of `npm run admin` for running processes, with the same bounds and the same effect.
 * @param param the field of the call that the error names if a word is refused.
 * @returns what each process answered.
 * @throws ApiError invalid_param for a word that is refused; invalid_state when a process failed to run the command.
 */
async function runCommand(
  { ip }: FastifyRequest,
  coordination: Coordination,
  { name, words, param }: { name: 'set' | 'drain' | 'log'; words: readonly string[]; param: string },
) {
  const command = LIVE_COMMANDS.find((one) => one.name === name);
  if (command === undefined) throw new Error(`There is no command ${name}.`);
  const by = `the operator's interface, from ${ip}`;
  try {
    const { text } = await command.run(parseArguments(command, words), { coordination, by });
    return successEnvelope('Done.', { lines: text.split('\n') });
  } catch (error) {
    const { message } = error as Error;
    if (error instanceof CommandUsageError) throw invalidParamError(param, message);
    if (error instanceof ApiError) throw error;
    throw new ApiError('invalid_state', message, { cause: error });
  }
}
