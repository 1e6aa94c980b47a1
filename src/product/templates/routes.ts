import { Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import { declareChange } from '../../platform/http/changes.ts';
import { sendCreated } from '../../platform/http/created.ts';
import { envelopeOf, pageOf, success } from '../../platform/http/envelope.ts';
import { importResultOf, sendImported } from '../../platform/http/paging/imports.ts';
import { rowWriter, sendList } from '../../platform/http/paging/streamed-list.ts';
import type { Gate } from '../accounts/gate/gate.ts';
import { checkEntryCount, partition } from '../versioned-resources/importing.ts';
import { templateNotFound } from './errors.ts';
import {
  findTemplate,
  listTemplates,
  readHistory,
  readTemplate,
  refuseBuiltIn,
  usableTemplateNames,
} from './reading.ts';
import { templateDataOf } from './responses.ts';
import { changedContent, checkSlug, importedContent, newContent } from './rules.ts';
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
import type { Template } from './template.ts';

export interface TemplateRoutesOptions {
  store: TemplatesStore;
  gate: Gate;
  now: () => Date;
}

const writeVersion = rowWriter(TemplateData);

const ROUTES = [list, create, importAll, read, change, remove, listVersions];

/**
 * The routes of templates: versioned HTML and CSS with placeholders, drawn by POST /images/render and by render jobs.
 */
export async function templateRoutes(app: FastifyInstance, options: TemplateRoutesOptions): Promise<void> {
  for (const route of ROUTES) route(app, options);
}

function list(app: FastifyInstance, { store, gate }: TemplateRoutesOptions): void {
  app.get<{ Querystring: TemplateListQuery }>(
    '/templates',
    {
      schema: {
        summary: 'List templates',
        description:
          'Built-ins first, then your own, most recently updated first. Rows carry no html and css.',
        querystring: TemplateListQuery,
        response: { 200: pageOf(TemplateSummary) },
      },
    },
    async (request) => {
      const { rows, meta } = await listTemplates(store, gate.requireCaller(request).accountId, request.query);
      return success('Templates listed.', rows, meta);
    },
  );
}

function create(app: FastifyInstance, { store, gate, now }: TemplateRoutesOptions): void {
  app.post<{ Body: NewTemplate }>(
    '/templates',
    {
      config: {
        idempotency: 'kept',
        needsFreeSpace: true,
        recheck: (_request, { body }) => readDraft(body as NewTemplate),
      },
      schema: {
        summary: 'Create a template',
        description:
          'HTML and CSS with {{ placeholders }}, checked when they are written. Starts at version 1.',
        body: NewTemplate,
        response: { 201: envelopeOf(TemplateData) },
      },
    },
    async (request, reply) => {
      const draft = readDraft(request.body);
      const template = await store.insertOne(gate.requireCaller(request).accountId, draft, now());
      return sendCreated(reply, `/templates/${template._id}`, 'Template created.', templateDataOf(template));
    },
  );
}

function importAll(app: FastifyInstance, { store, gate, now }: TemplateRoutesOptions): void {
  app.post<{ Body: unknown[] }>(
    '/templates/import',
    {
      config: { idempotency: 'kept', needsFreeSpace: true, fixedWord: true },
      schema: {
        summary: 'Import templates',
        description:
          'Entries that break a rule are listed in errors; the others are imported, each at version 1.',
        body: TemplateEntries,
        response: { 201: envelopeOf(importResultOf('TemplateImport', TemplateData)) },
      },
    },
    async (request, reply) => {
      const { drafts, errors } = await checkEntries(request.body);
      const templates = await store.insert(gate.requireCaller(request).accountId, drafts, now());
      const sent = request.body.length;
      return sendImported(reply, templates.map(templateDataOf), errors, { sent, of: 'templates' });
    },
  );
}

function read(app: FastifyInstance, { store, gate }: TemplateRoutesOptions): void {
  app.get<{ Params: TemplateParams }>(
    '/templates/:templateId',
    {
      schema: {
        summary: 'Read a template',
        description: 'With html and css, or one version of it by id@version.',
        params: TemplateParams,
        response: { 200: envelopeOf(TemplateData) },
      },
    },
    async (request) => {
      const { accountId } = gate.requireCaller(request);
      return success('Template read.', await readTemplate(store, accountId, request.params.templateId));
    },
  );
}

function change(app: FastifyInstance, { store, gate, now }: TemplateRoutesOptions): void {
  declareChange<{ Params: TemplateParams; Body: TemplateChange }>(
    app,
    '/templates/:templateId',
    {
      config: {
        idempotency: 'kept',
        needsFreeSpace: true,
        async recheck(request, { body }) {
          const { templateId } = request.params as TemplateParams;
          const { accountId } = gate.requireCaller(request);
          readChange(await findTemplate(store, accountId, templateId), body as TemplateChange);
        },
      },
      schema: {
        summary: 'Change a template',
        description:
          'Fields that are left out keep their values. Every change is a new version; the one before stays readable as id@version.',
        params: TemplateParams,
        body: TemplateChange,
        response: { 200: envelopeOf(TemplateData) },
      },
    },
    async (request) => {
      const { templateId } = request.params;
      refuseBuiltIn(templateId);
      const { accountId } = gate.requireCaller(request);
      const change = (current: Template) => readChange(current, request.body);
      const template = await store.update(accountId, templateId, change, now());
      if (template === null) throw templateNotFound(templateId, await usableTemplateNames(store, accountId));
      return success('Template changed.', templateDataOf(template));
    },
  );
}

function remove(app: FastifyInstance, { store, gate }: TemplateRoutesOptions): void {
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
      refuseBuiltIn(templateId);
      const { accountId } = gate.requireCaller(request);
      const removed = await store.remove(accountId, templateId);
      if (!removed) throw templateNotFound(templateId, await usableTemplateNames(store, accountId));
      return reply.code(204).send();
    },
  );
}

function listVersions(app: FastifyInstance, { store, gate }: TemplateRoutesOptions): void {
  app.get<{ Params: TemplateParams }>(
    '/templates/:templateId/versions',
    {
      schema: {
        summary: 'List the versions of a template',
        description: 'Newest first, each whole, with the id `<id>@<version>`. Not paged.',
        params: TemplateParams,
        response: { 200: envelopeOf(Type.Array(TemplateData)) },
      },
    },
    async (request, reply) => {
      const { accountId } = gate.requireCaller(request);
      const template = await findTemplate(store, accountId, request.params.templateId);
      return sendList(reply, 'Versions listed.', readHistory(store, accountId, template), writeVersion);
    },
  );
}

/**
 * Checks a new template, and returns its content and slug.
 * @throws ApiError invalid_param on the invalid field.
 */
function readDraft(sent: NewTemplate) {
  if (sent.slug !== undefined) checkSlug(sent.slug);
  return { content: newContent(sent), slug: sent.slug };
}

/** The same of a template that is changed. */
function readChange(current: Template, change: TemplateChange) {
  const { slug = current.slug } = change;
  if (change.slug !== undefined) checkSlug(slug);
  return { ...changedContent(current, change), slug };
}

/**
 * Divides the entries of an import into those that can be stored, in the order sent, and refused ones with index and
 * reason. Each entry is checked like a new template. Slug, version and history are not imported.
 * @throws ApiError resource_limit_exceeded, before any entry is checked, for far more entries than an account can
 *   hold.
 */
export async function checkEntries(
  entries: readonly unknown[],
): Promise<{ drafts: TemplateDraft[]; errors: string[] }> {
  checkEntryCount(TEMPLATE_KIND, entries.length);
  const { accepted, refused } = await partition(entries.entries(), importedContent);
  return {
    drafts: accepted.map(([, content]) => ({ content })),
    errors: refused.map(({ index, error }) => `[${index}] ${error.message}`),
  };
}
