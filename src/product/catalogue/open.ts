import { Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import { envelopeSchemaOf, successEnvelope } from '../../platform/http/envelope.ts';
import { ApiError } from '../../platform/http/errors/errors.ts';
import { textField } from '../../platform/http/fields.ts';
import { etagOfData } from '../../platform/http/hooks/caching.ts';
import type { ProductSlice } from '../../platform/http/slice.ts';
import { hintFirst } from '../../platform/ids/nearest.ts';
import type { DocumentationPage } from '../../platform/pages/page.ts';
import { withoutAbsentFields } from '../../platform/values/present.ts';
import type { Plan } from '../billing/plans.ts';
import type { ModelsFile } from '../models/models.ts';
import { imageModelPrice } from '../models/prices.ts';
import { OP_NAMES, OPS } from './index.ts';
import { opDefinitionOf } from './pages/definition.ts';
import { guidelinesOf, guidelinesPage } from './pages/guidelines.ts';
import { AgentGuidelines, OpDefinition, OpListQuery, OpListRow, PriceList } from './schema.ts';
import { suggestOp } from './usual-words.ts';

interface CatalogueOptions {
  plans: readonly Plan[];
  models: ModelsFile;
  /** When this release was installed. It is the `updatedAt` of the guidelines. */
  installedAt: Date;
  /** The typical time of an item, in whole seconds, by op and model. Undefined with too few measurements. */
  typicalSecondsOf: (op: string, model: string) => number | undefined;
}

/** The routes GET /ops, /ops/{op} and /agent-guidelines. They are public, and answer every caller alike. */
async function catalogueRoutes(
  app: FastifyInstance,
  definitions: readonly OpDefinition[],
  options: CatalogueOptions,
): Promise<void> {
  const byName = new Map(definitions.map((definition) => [definition.op, definition]));
  const guidelines = guidelinesOf(definitions, options.installedAt);
  const names = definitions.map(({ op, kind, description }) => ({ op, kind, description }));

  /** Adds the measured seconds, the only part of a definition that changes at run time. */
  function withTypicalSeconds(definition: OpDefinition): OpDefinition {
    const { op, defaultModel } = definition;
    const typicalSeconds =
      defaultModel === undefined ? undefined : options.typicalSecondsOf(op, defaultModel);
    return { ...definition, ...withoutAbsentFields({ typicalSeconds }) };
  }

  app.get<{ Querystring: OpListQuery }>(
    '/ops',
    {
      config: { access: 'public', compress: true },
      schema: {
        summary: 'List every op',
        description: 'With parameters, price and an example each.',
        querystring: OpListQuery,
        response: { 200: envelopeSchemaOf(Type.Array(OpListRow)) },
      },
      // A row has one of two forms, which a serializer that is generated from the schema could not distinguish.
      serializerCompiler: () => JSON.stringify,
    },
    async ({ query }, reply) => {
      const listed = query.view === 'names' ? names : definitions.map(withTypicalSeconds);
      reply.header('etag', etagOfData(listed)).header('cache-control', 'no-cache');
      return successEnvelope(`${listed.length} ops.`, listed);
    },
  );

  app.get<{ Params: { op: string } }>(
    '/ops/:op',
    {
      config: { access: 'public' },
      schema: {
        summary: 'Read one op',
        description: 'Its parameters, price and an example.',
        params: Type.Object({ op: textField("The op's name.") }),
        response: { 200: envelopeSchemaOf(OpDefinition) },
      },
    },
    async (request) => {
      const definition = byName.get(request.params.op);
      if (definition === undefined) throw unknownOpError(request.params.op);
      return successEnvelope(`The op ${definition.op}.`, withTypicalSeconds(definition));
    },
  );

  app.get(
    '/agent-guidelines',
    {
      config: { access: 'public', compress: true },
      schema: {
        summary: 'Read the guidelines',
        description: 'One text of Markdown, also at /docs/guidelines.md.',
        response: { 200: envelopeSchemaOf(AgentGuidelines) },
      },
    },
    async (_request, reply) => {
      reply.header('etag', etagOfData(guidelines)).header('cache-control', 'no-cache');
      return successEnvelope('The guidelines for agents.', guidelines);
    },
  );
}

/** The route GET /pricing/image-models. Unlike the other routes of the API, it lies under /api instead of /api/v1. */
async function priceListRoutes(
  app: FastifyInstance,
  definitions: readonly OpDefinition[],
  { models }: CatalogueOptions,
): Promise<void> {
  const list: PriceList = {
    models: models.models.map((model) => imageModelPrice(models, model)),
    ops: definitions.map(({ op, pricing: { basis, summary } }) => ({ op, basis, summary })),
    creditsPerUsd: models.creditsPerUsd,
    markup: models.markup,
  };
  app.get(
    '/pricing/image-models',
    {
      config: { access: 'public' },
      schema: {
        summary: 'Read the price list',
        description: 'Of image models, without a credential.',
        response: { 200: envelopeSchemaOf(PriceList) },
      },
    },
    async () => successEnvelope('The price list.', list),
  );
}

function unknownOpError(name: string): ApiError {
  const message = `There is no op ${JSON.stringify(name)}: the ops are ${OP_NAMES.join(', ')}.`;
  const {
    hint,
    corrections,
    suggest = corrections.flatMap((correction) => ('replace' in correction ? [correction.replace] : [])),
  } = suggestOp(name, 'op');
  const context = { param: 'op', details: { allowed: OP_NAMES, ...(suggest.length > 0 && { suggest }) } };
  return new ApiError('not_found', hintFirst(hint, message), context);
}

export interface CatalogueSlice extends ProductSlice {
  /** Registers the price list, which lies under /api instead of /api/v1. */
  priceRoutes(app: FastifyInstance): Promise<void>;
  /** Every op, as GET /ops shows it. */
  definitions(): readonly OpDefinition[];
  guidelines(): DocumentationPage;
}

export function openCatalogue(options: CatalogueOptions): CatalogueSlice {
  const definitions = Object.values(OPS).map((op) => opDefinitionOf(op, options.plans, options.models));
  return {
    routes: (app) => catalogueRoutes(app, definitions, options),
    priceRoutes: (app) => priceListRoutes(app, definitions, options),
    definitions: () => definitions,
    guidelines: () => guidelinesPage(definitions),
  };
}
