import { Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import { envelopeSchemaOf, successEnvelope } from '../../platform/http/envelope.ts';
import { invalidParamError } from '../../platform/http/errors/errors.ts';
import { importResultSchema, sendImportResult } from '../../platform/http/lists.ts';
import { sendLongAnswer, streamList } from '../../platform/http/long-answers.ts';
import { declareChangeRoute } from '../../platform/http/slice.ts';
import { slugFromName } from '../../platform/ids/slugs.ts';
import type { Coordination } from '../../platform/stores/coordination/port.ts';
import { type CallGate, LONG_READS_TEXT } from '../accounts/gate/gate.ts';
import { presetVersionNotFoundError } from './errors.ts';
import { parsePresetEntries } from './importing.ts';
import type { Preset } from './preset.ts';
import {
  earlierVersionDataOf,
  listPresets,
  parsePresetReferencePath,
  parsePresetVersionPath,
  presetExportOf,
  type ReadPresetUsage,
  readMissingPresetError,
  refuseReadOnlyPresetPath,
  resolvePresetReference,
  savedPresetDataOf,
  withPresetUsage,
} from './reading.ts';
import { announceRemovedVersions } from './removals.ts';
import {
  applyPresetChange,
  checkPresetChange,
  checkPresetNames,
  type PresetContentRules,
  parseNewPreset,
} from './rules.ts';
import {
  NewPreset,
  PresetChange,
  PresetData,
  PresetEntries,
  PresetListQuery,
  PresetParams,
  PresetReadQuery,
  PresetVersionParams,
} from './schema.ts';
import type { PresetsStore } from './store.ts';

export interface PresetRoutesOptions extends PresetContentRules {
  store: PresetsStore;
  coordination: Pick<Coordination, 'publish'>;
  gate: CallGate;
  /** Counts the runs of presets in jobs. */
  readPresetUsage: ReadPresetUsage;
  now: () => Date;
}

const ROUTE_INSTALLERS = [
  installListRoute,
  installCreateRoute,
  installImportRoute,
  installReadRoute,
  installChangeRoute,
  installRemoveRoute,
  installRemoveVersionRoute,
];

/** The routes of presets: versioned lists of steps, which are checked when they are saved and then run by name. */
export async function presetRoutes(app: FastifyInstance, options: PresetRoutesOptions): Promise<void> {
  for (const route of ROUTE_INSTALLERS) route(app, options);
}

function installListRoute(app: FastifyInstance, { store, gate, readPresetUsage }: PresetRoutesOptions): void {
  app.get<{ Querystring: PresetListQuery }>(
    '/presets',
    {
      schema: {
        summary: 'List presets',
        description: `Built-ins first, then your own, most recently updated first. Not paged. Each call with includeVersions counts as an answer of megabytes. ${LONG_READS_TEXT}`,
        querystring: PresetListQuery,
        response: { 200: envelopeSchemaOf(Type.Array(PresetData)) },
      },
    },
    async (request, reply) => {
      const { accountId } = gate.requireCaller(request);
      if (request.query.includeVersions) await gate.takeSlot(request, reply, 'longReads', accountId);
      const rows = await listPresets(store, accountId, request.query, readPresetUsage);
      return streamList(reply, 'Presets listed.', rows);
    },
  );
}

function installCreateRoute(app: FastifyInstance, options: PresetRoutesOptions): void {
  const { store, gate, now } = options;
  app.post<{ Body: NewPreset }>(
    '/presets',
    {
      config: {
        idempotency: 'kept',
        needsFreeSpace: true,
        recheck: (request, { body }) =>
          parseNewPreset(body as NewPreset, gate.requireCaller(request).accountId, options),
      },
      schema: {
        summary: 'Create a preset',
        description: 'Steps are checked when they are written, so that a saved preset can run.',
        body: NewPreset,
        response: { 201: envelopeSchemaOf(PresetData) },
      },
    },
    async (request, reply) => {
      const { accountId } = gate.requireCaller(request);
      const { name, description = '', slug } = request.body;
      const content = await parseNewPreset(request.body, accountId, options);
      const named = { slug: slug ?? slugFromName(name, 'preset'), takesSuffix: slug === undefined };
      const draft = { name, description, version: 1, history: [], ...named, ...content };
      const preset = await store.insertOne(accountId, draft, now());
      const data = await readSavedPreset(options, accountId, preset);
      reply.code(201).header('location', `/api/v1/presets/${preset.slug}`);
      return sendLongAnswer(reply, accountId, successEnvelope('Preset created.', data));
    },
  );
}

function installImportRoute(app: FastifyInstance, options: PresetRoutesOptions): void {
  const { store, gate, models, now } = options;
  app.post<{ Body: unknown[] }>(
    '/presets/import',
    {
      config: { idempotency: 'kept', needsFreeSpace: true, fixedWord: true },
      schema: {
        summary: 'Import presets',
        description:
          'Takes presets as GET /api/v1/presets/{slug} answers them, with version and versions. Entries that break a rule are listed in errors; the others are imported.',
        body: PresetEntries,
        response: { 201: envelopeSchemaOf(importResultSchema('PresetImport', PresetData)) },
      },
    },
    async (request, reply) => {
      const { accountId } = gate.requireCaller(request);
      const { drafts, errors } = await parsePresetEntries(request.body, accountId, options, now());
      const presets = await store.insert(accountId, drafts, now());
      const entries = presets
        .values()
        .map((preset, index) => savedPresetDataOf(preset, drafts[index]?.history ?? [], models));
      const counts = { importedCount: presets.length, sent: request.body.length };
      return sendImportResult(reply, accountId, { of: 'presets', entries, errors, ...counts });
    },
  );
}

function installReadRoute(app: FastifyInstance, { store, gate, readPresetUsage }: PresetRoutesOptions): void {
  app.get<{ Params: PresetParams; Querystring: PresetReadQuery }>(
    '/presets/:slug',
    {
      schema: {
        summary: 'Read a preset',
        description: `In the form that can be imported, or one version of it by slug@version or ?version=. ${LONG_READS_TEXT}`,
        params: PresetParams,
        querystring: PresetReadQuery,
        response: { 200: envelopeSchemaOf(PresetData) },
      },
    },
    async (request, reply) => {
      const { accountId } = gate.requireCaller(request);
      const reference = parsePresetReferencePath(request.params.slug, request.query.version);
      const { preset, version } = await resolvePresetReference(store, accountId, reference, 'slug');
      const isCurrent = version.version === preset.version;
      const takeSlot = () => gate.takeSlot(request, reply, 'longReads', accountId);
      const [usage, versions] = await Promise.all([
        readPresetUsage(accountId, [preset._id]),
        isCurrent ? store.findHistory(accountId, preset, takeSlot) : [],
      ]);
      const data = isCurrent ? presetExportOf(preset, versions) : earlierVersionDataOf(preset, version);
      return sendLongAnswer(reply, accountId, successEnvelope('Preset read.', withPresetUsage(data, usage)));
    },
  );
}

function installChangeRoute(app: FastifyInstance, options: PresetRoutesOptions): void {
  const { store, gate, models, now } = options;
  declareChangeRoute<{ Params: PresetParams; Body: PresetChange }>(
    app,
    '/presets/:slug',
    {
      config: {
        idempotency: 'kept',
        needsFreeSpace: true,
        recheck: (_request, { body }) => checkPresetChange(body as PresetChange, models),
      },
      schema: {
        summary: 'Change a preset',
        description:
          'Fields that are left out keep their values. Other steps or subjects are a new version; the one before stays readable as slug@version.',
        params: PresetParams,
        body: PresetChange,
        response: { 200: envelopeSchemaOf(PresetData) },
      },
    },
    async (request, reply) => {
      const { accountId } = gate.requireCaller(request);
      const { slug } = request.params;
      refuseReadOnlyPresetPath(slug);
      checkPresetNames(request.body);
      const revise = (current: Preset) => applyPresetChange(current, request.body, accountId, options);
      const preset = await store.update(accountId, slug, revise, now());
      if (preset === null) throw await readMissingPresetError(store, accountId, 'slug', slug);
      const data = await readSavedPreset(options, accountId, preset);
      return sendLongAnswer(reply, accountId, successEnvelope('Preset changed.', data));
    },
  );
}

function installRemoveRoute(app: FastifyInstance, { store, coordination, gate }: PresetRoutesOptions): void {
  app.delete<{ Params: PresetParams }>(
    '/presets/:slug',
    {
      config: { idempotency: 'kept' },
      schema: {
        summary: 'Delete a preset',
        description: 'Removes every version. The answer names in Cache-Tag what a CDN has to purge.',
        params: PresetParams,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const { slug } = request.params;
      refuseReadOnlyPresetPath(slug);
      const { accountId } = gate.requireCaller(request);
      const removed = await store.remove(accountId, slug);
      if (removed === null) throw await readMissingPresetError(store, accountId, 'slug', slug);
      const versions = [...removed.superseded, removed.version];
      const tags = await announceRemovedVersions(coordination, accountId, removed, versions);
      return reply.code(204).header('cache-tag', tags.join(',')).send();
    },
  );
}

function installRemoveVersionRoute(
  app: FastifyInstance,
  { store, coordination, gate }: PresetRoutesOptions,
): void {
  app.delete<{ Params: PresetVersionParams }>(
    '/presets/:slug/versions/:version',
    {
      config: { idempotency: 'kept' },
      schema: {
        summary: 'Delete a version of a preset',
        description: 'The current version stays, and its number is never given again.',
        params: PresetVersionParams,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const { accountId } = gate.requireCaller(request);
      const { slug } = request.params;
      refuseReadOnlyPresetPath(slug);
      const version = parsePresetVersionPath(request.params.version);
      const preset = await store.find(accountId, slug);
      if (preset === null) throw await readMissingPresetError(store, accountId, 'slug', slug);
      if (version === preset.version) {
        const message = `Version ${version} is the current one, which the preset runs: delete an earlier one.`;
        throw invalidParamError('version', message, { received: version });
      }
      if (!(await store.removeVersion(accountId, preset._id, version)))
        throw presetVersionNotFoundError('version', preset);
      const tags = await announceRemovedVersions(coordination, accountId, preset, [version]);
      return reply.code(204).header('cache-tag', tags.join(',')).send();
    },
  );
}

/** A preset in the response of a write. */
async function readSavedPreset({ store, models }: PresetRoutesOptions, accountId: string, preset: Preset) {
  const versions = await store.findHistory(accountId, preset);
  return savedPresetDataOf(preset, versions, models);
}
