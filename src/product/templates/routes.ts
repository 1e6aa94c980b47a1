import { Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import {
  envelopeSchemaOf,
  pageSchemaOf,
  sendCreated,
  successEnvelope,
} from '../../platform/http/envelope.ts';
import { importResultSchema, sendImportResult } from '../../platform/http/lists.ts';
import { createRowWriter, sendLongAnswer, streamList } from '../../platform/http/long-answers.ts';
import { declareChangeRoute } from '../../platform/http/slice.ts';
import {
  checkImportEntryCount,
  partitionEntries,
  refuseReservedSlug,
} from '../../platform/named-documents.ts';
import type { CallGate } from '../accounts/gate/gate.ts';
import {
  findTemplate,
  listTemplates,
  readMissingTemplateError,
  readTemplate,
  readTemplateHistory,
  refuseBuiltInTemplate,
} from './reading.ts';
import { applyTemplateChange, parseImportedTemplate, parseNewTemplate } from './rules.ts';
import {
  NewTemplate,
  TemplateChange,
  TemplateData,
  TemplateEntries,
  TemplateListQuery,
  TemplateParams,
  TemplateSummary,
} from './schema.ts';
import { TEMPLATE_KIND, type TemplateDraft, type TemplatesStore } from './store.ts';
import { type Template, templateDataOf } from './template.ts';

export interface TemplateRoutesOptions {
  store: TemplatesStore;
  gate: CallGate;
  now: () => Date;
}

const serializeTemplate = createRowWriter(TemplateData);
const writeSummary = createRowWriter(TemplateSummary);

const ROUTE_INSTALLERS = [
  installListRoute,
  installCreateRoute,
  installImportRoute,
  installReadRoute,
  installChangeRoute,
  installRemoveRoute,
  installVersionsRoute,
];

/**
 * The routes of templates: versioned HTML and CSS with placeholders, drawn by POST /images/render and by render jobs.
 */
export async function templateRoutes(app: FastifyInstance, options: TemplateRoutesOptions): Promise<void> {
  for (const route of ROUTE_INSTALLERS) route(app, options);
}

function installListRoute(app: FastifyInstance, { store, gate }: TemplateRoutesOptions): void {
  app.get<{ Querystring: TemplateListQuery }>(
    '/templates',
    {
      schema: {
        summary: 'List templates',
        description:
          'Built-ins first, then your own, most recently updated first. Rows carry no html and css.',
        querystring: TemplateListQuery,
        response: { 200: pageSchemaOf(TemplateSummary) },
      },
    },
    async (request, reply) => {
      const { accountId } = gate.requireCaller(request);
      const { rows, meta } = await listTemplates(store, accountId, request.query);
      const data = rows.values().map(writeSummary);
      return sendLongAnswer(reply, accountId, successEnvelope('Templates listed.', data, meta));
    },
  );
}

function installCreateRoute(app: FastifyInstance, { store, gate, now }: TemplateRoutesOptions): void {
  app.post<{ Body: NewTemplate }>(
    '/templates',
    {
      config: {
        idempotency: 'kept',
        needsFreeSpace: true,
        recheck: (_request, { body }) => parseDraft(body as NewTemplate),
      },
      schema: {
        summary: 'Create a template',
        description:
          'HTML and CSS with {{ placeholders }}, checked when they are written. Starts at version 1.',
        body: NewTemplate,
        response: { 201: envelopeSchemaOf(TemplateData) },
      },
    },
    async (request, reply) => {
      const draft = parseDraft(request.body);
      const template = await store.insertOne(gate.requireCaller(request).accountId, draft, now());
      return sendCreated(reply, `/templates/${template._id}`, 'Template created.', templateDataOf(template));
    },
  );
}

function installImportRoute(app: FastifyInstance, { store, gate, now }: TemplateRoutesOptions): void {
  app.post<{ Body: unknown[] }>(
    '/templates/import',
    {
      config: { idempotency: 'kept', needsFreeSpace: true, fixedWord: true },
      schema: {
        summary: 'Import templates',
        description:
          'Entries that break a rule are listed in errors; the others are imported, each at version 1.',
        body: TemplateEntries,
        response: { 201: envelopeSchemaOf(importResultSchema('TemplateImport', TemplateData)) },
      },
    },
    async (request, reply) => {
      const { drafts, errors } = await parseTemplateEntries(request.body);
      const { accountId } = gate.requireCaller(request);
      const templates = await store.insert(accountId, drafts, now());
      const entries = templates.values().map((template) => serializeTemplate(templateDataOf(template)));
      const counts = { importedCount: templates.length, sent: request.body.length };
      return sendImportResult(reply, accountId, { of: 'templates', entries, errors, ...counts });
    },
  );
}

function installReadRoute(app: FastifyInstance, { store, gate }: TemplateRoutesOptions): void {
  app.get<{ Params: TemplateParams }>(
    '/templates/:templateId',
    {
      schema: {
        summary: 'Read a template',
        description: 'With html and css, or one version of it by id@version.',
        params: TemplateParams,
        response: { 200: envelopeSchemaOf(TemplateData) },
      },
    },
    async (request) => {
      const { accountId } = gate.requireCaller(request);
      const data = await readTemplate(store, accountId, request.params.templateId);
      return successEnvelope('Template read.', data);
    },
  );
}

function installChangeRoute(app: FastifyInstance, { store, gate, now }: TemplateRoutesOptions): void {
  declareChangeRoute<{ Params: TemplateParams; Body: TemplateChange }>(
    app,
    '/templates/:templateId',
    {
      config: {
        idempotency: 'kept',
        needsFreeSpace: true,
        async recheck(request, { body }) {
          const { templateId } = request.params as TemplateParams;
          const { accountId } = gate.requireCaller(request);
          applyChange(await findTemplate(store, accountId, templateId), body as TemplateChange);
        },
      },
      schema: {
        summary: 'Change a template',
        description:
          'Fields that are left out keep their values. Every change is a new version; the one before stays readable as id@version.',
        params: TemplateParams,
        body: TemplateChange,
        response: { 200: envelopeSchemaOf(TemplateData) },
      },
    },
    async (request) => {
      const { templateId } = request.params;
      refuseBuiltInTemplate(templateId);
      const { accountId } = gate.requireCaller(request);
      const change = (current: Template) => applyChange(current, request.body);
      const template = await store.update(accountId, templateId, change, now());
      if (template === null) throw await readMissingTemplateError(store, accountId, templateId);
      return successEnvelope('Template changed.', templateDataOf(template));
    },
  );
}

function installRemoveRoute(app: FastifyInstance, { store, gate }: TemplateRoutesOptions): void {
  app.delete<{ Params: TemplateParams }>(
    '/templates/:templateId',
    {
      config: { idempotency: 'kept' },
      schema: {
        summary: 'Delete a template',
        description: 'Removes every version.',
        params: TemplateParams,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const { templateId } = request.params;
      refuseBuiltInTemplate(templateId);
      const { accountId } = gate.requireCaller(request);
      if (!(await store.remove(accountId, templateId)))
        throw await readMissingTemplateError(store, accountId, templateId);
      return reply.code(204).send();
    },
  );
}

function installVersionsRoute(app: FastifyInstance, { store, gate }: TemplateRoutesOptions): void {
  app.get<{ Params: TemplateParams }>(
    '/templates/:templateId/versions',
    {
      schema: {
        summary: 'List the versions of a template',
        description: 'Newest first, each whole, with the id `<id>@<version>`. Not paged.',
        params: TemplateParams,
        response: { 200: envelopeSchemaOf(Type.Array(TemplateData)) },
      },
    },
    async (request, reply) => {
      const { accountId } = gate.requireCaller(request);
      const template = await findTemplate(store, accountId, request.params.templateId);
      const versions = readTemplateHistory(store, accountId, template);
      return streamList(reply, 'Versions listed.', versions, serializeTemplate);
    },
  );
}

/**
 * Checks a new template, and returns its content and its slug.
 * @throws ApiError invalid_param on the field at fault.
 */
function parseDraft(sent: NewTemplate) {
  if (sent.slug !== undefined) refuseReservedSlug(TEMPLATE_KIND, sent.slug);
  return { content: parseNewTemplate(sent), slug: sent.slug };
}

function applyChange(current: Template, change: TemplateChange) {
  const { slug = current.slug } = change;
  if (change.slug !== undefined) refuseReservedSlug(TEMPLATE_KIND, slug);
  return { ...applyTemplateChange(current, change), slug };
}

/**
 * Checks the entries of an import. Returns those that can be stored, in the order sent, and for each of the others its
 * index and the reason. Each entry is checked like a new template. Slug, version and history are not imported.
 * @throws ApiError resource_limit_exceeded, before any entry is checked, if there are far more entries than an account
 * may store.
 */
export async function parseTemplateEntries(
  entries: readonly unknown[],
): Promise<{ drafts: TemplateDraft[]; errors: string[] }> {
  checkImportEntryCount(TEMPLATE_KIND, entries.length);
  const { accepted, refused } = await partitionEntries(entries.entries(), parseImportedTemplate);
  return {
    drafts: accepted.map(([, content]) => ({ content })),
    errors: refused.map(({ index, error }) => `[${index}] ${error.message}`),
  };
}
