import { type Static, Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import type { Renders } from '../../imaging/renders/renders.ts';
import { envelopeSchemaOf, successEnvelope } from '../../platform/http/envelope.ts';
import { exclusiveFieldError, invalidParamError, sentFieldAt } from '../../platform/http/errors/errors.ts';
import { type FieldHint, unknownWordError } from '../../platform/http/errors/violations.ts';
import {
  dryRunQueryFields,
  isDryRun,
  textField,
  VERSIONED_REFERENCE_SCHEMA,
} from '../../platform/http/fields.ts';
import { addWarnings } from '../../platform/http/hooks/warnings.ts';
import { withoutAbsentFields } from '../../platform/values/present.ts';
import { normalizeFormatName } from '../catalogue/checks/spelling.ts';
import { fillTemplate, type SizedTemplatePage } from '../templates/document.ts';
import { findPageWarnings } from '../templates/findings.ts';
import type { TemplatesSlice } from '../templates/open.ts';
import { parseSentPage } from '../templates/rules.ts';
import { RENDER_PAGE_FIELDS } from '../templates/schema.ts';
import { DRY_RUN_MESSAGE, ImageEstimate } from './estimates.ts';
import type { FontRoutesOptions } from './fonts.ts';
import { type MeteredCallOptions, SyncCall, sendPicture } from './metered-call.ts';
import { findPageAssets, readPageAssets, withAssetScheme } from './page-assets.ts';
import { ResultLink, resultLinkBody, type TemporaryResults } from './results.ts';

export interface RenderRoutesOptions extends MeteredCallOptions, FontRoutesOptions {
  renders: Renders;
  templates: Pick<TemplatesSlice, 'findForRender'>;
  publicUrl: () => string;
  results: TemporaryResults;
}

const RENDER_FORMATS = ['png', 'jpeg', 'webp', 'avif'] as const;
const MAX_PAGE_EDGE_PX = 4096;

const RenderBody = Type.Object(
  {
    templateId: Type.Optional(
      Type.String({
        description:
          'Id, slug, or either with @version; a built-in also by its short name, such as social-card. Or send html.',
        documented: VERSIONED_REFERENCE_SCHEMA,
      }),
    ),
    ...Type.Partial(Type.Object(RENDER_PAGE_FIELDS)).properties,
    data: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), { description: 'The row: variable name to value.' }),
    ),
    format: Type.Optional(
      Type.String({ description: 'Of the picture. Default: png.', documented: { enum: RENDER_FORMATS } }),
    ),
    quality: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100, description: 'Of a jpeg, webp or avif.' }),
    ),
    scale: Type.Optional(
      Type.Number({
        minimum: 1,
        maximum: 3,
        description:
          'Pixels of the picture per pixel of the template; the picture has at most 4096 per edge. Default: 1.',
      }),
    ),
  },
  {
    title: 'RenderRequest',
    examples: [
      { templateId: 'builtin-template-social-card', data: { title: 'Hello' } },
      { html: '<h1>{{ title }}</h1>', width: 600, height: 300, data: { title: 'Hello' } },
    ],
    additionalProperties: false,
    instead: {
      template: { says: 'name the template in templateId', rename: 'templateId' },
    } satisfies Record<string, FieldHint>,
    documented: { oneOf: [{ required: ['templateId'] }, { required: ['html', 'width', 'height'] }] },
    elsewhere: "the values of the template's variables go into data",
  },
);
type RenderBody = Static<typeof RenderBody>;

const RenderQuery = Type.Object({
  response: Type.Optional(textField('`url` answers a signed link of 5 minutes instead of the bytes.')),
  ...dryRunQueryFields('Checks and prices the call, and says what it would draw; nothing runs.'),
});
type RenderQuery = Static<typeof RenderQuery>;

/** The JSON responses, which replace the bytes of the picture: an estimate, or a link. */
const RenderAnswers = Type.Union([ImageEstimate, ResultLink], { title: 'RenderAnswer' });

/**
 * Serves POST /images/render, a synchronous call: draws a stored template, or the html in the call, with one row of
 * data.
 */
export async function renderRoutes(app: FastifyInstance, options: RenderRoutesOptions): Promise<void> {
  const { gate, renders, templates, results } = options;

  app.post<{ Body: RenderBody; Querystring: RenderQuery }>(
    '/images/render',
    {
      config: {
        slot: (request) => (isDryRun(request) ? null : 'calls'),
        responseType: 'image/*',
        recheck: async (request, { body }) => {
          const sent = body as RenderBody;
          const { template } = await findPage(sent, gate.requireCaller(request).accountId);
          parseDrawingOptions(sent, template);
        },
      },
      schema: {
        summary: 'Render a template, or html, to a picture',
        description:
          'Fills a stored template (`templateId`), or the `html` and `css` of the call in a picture of `width` by `height`, with one row of `data`. Nothing is stored. With dryRun=true the call is checked and priced only.',
        querystring: RenderQuery,
        body: RenderBody,
        response: { 200: envelopeSchemaOf(RenderAnswers) },
      },
    },
    async (request, reply) => {
      const syncCall = new SyncCall(request, reply, options);
      const { caller, terms, finish } = syncCall;
      const { template, param } = await findPage(request.body, caller.accountId);
      const drawing = parseDrawingOptions(request.body, template);
      const row = request.body.data ?? {};
      const html = withAssetScheme(fillTemplate(template, row), options.publicUrl());
      const found = await findPageAssets(html, caller.accountId, options.assets);
      const findWarnings = () => findPageWarnings(template, row, html, found.missing);
      if (isDryRun(request)) {
        const warnings = await findWarnings();
        addWarnings(reply, warnings);
        const [price = 0] = await options.allowance.estimate(caller, 1);
        return successEnvelope(DRY_RUN_MESSAGE, { ...predictedPictureOf(drawing), price, warnings });
      }
      const picture = await syncCall.run('render_template', async () => {
        const assets = await readPageAssets(found.files, { ...options, terms, finish });
        const drawn = await finish(renders.begin({ html, ...drawing, ...terms, assets, param }));
        const link = request.query.response === 'url' ? await results.store(drawn) : null;
        return { ...drawn, bytesIn: html.length, bytesOut: drawn.data.length, link };
      });
      addWarnings(reply, [
        ...(await findWarnings()),
        ...picture.warnings,
        ...(await options.fonts.findWarnings(picture.text)),
      ]);
      if (picture.link !== null)
        return successEnvelope('Picture drawn.', resultLinkBody(picture.link, picture));
      return sendPicture(reply, picture);
    },
  );

  /** Finds the page of a call, and the field of the call from which it comes. */
  async function findPage(
    body: RenderBody,
    accountId: string,
  ): Promise<{ template: SizedTemplatePage; param: string }> {
    const { templateId, html } = body;
    if (html === undefined) {
      const reference = requireTemplateId(body);
      return { template: await templates.findForRender(accountId, reference), param: 'templateId' };
    }
    if (templateId !== undefined)
      throw exclusiveFieldError('html', 'html and templateId exclude each other: send one of them.', [
        'html',
        'templateId',
      ]);
    return { template: parseSentPage({ ...body, html }), param: 'html' };
  }
}

/**
 * The name of the template, for a call without html.
 * @throws ApiError invalid_param on `templateId` if it is missing; on `css`, `width` or `height`, which are allowed
 * only with html.
 */
function requireTemplateId({ templateId, css, width, height }: RenderBody): string {
  if (templateId === undefined)
    throw exclusiveFieldError(
      'templateId',
      'templateId is missing: name a template, or send html, width and height.',
      ['templateId', 'html'],
    );
  const [extra] = Object.keys(withoutAbsentFields({ css, width, height }));
  if (extra === undefined) return templateId;
  const message = `${extra} goes with html, and a template has its own: leave it out.`;
  throw invalidParamError(extra, message, undefined, [{ param: extra, remove: true }]);
}

/**
 * Parses the options for drawing a page and encoding its picture.
 * @throws ApiError invalid_param on `format`, `scale` or `quality`.
 */
function parseDrawingOptions(
  { format: sent = 'png', quality, scale = 1 }: RenderBody,
  { width, height }: { width: number; height: number },
) {
  const format = parseFormat(sent);
  const edge = Math.round(Math.max(width, height) * scale);
  if (edge > MAX_PAGE_EDGE_PX) {
    const message = `scale makes an edge of ${edge} pixels, but at most ${MAX_PAGE_EDGE_PX} are drawn: send a smaller one.`;
    const largest = Math.floor((100 * MAX_PAGE_EDGE_PX) / Math.max(width, height)) / 100;
    const suggest = largest < 1 ? {} : { suggest: [largest] };
    throw invalidParamError('scale', message, { received: scale, limit: MAX_PAGE_EDGE_PX, ...suggest });
  }
  if (quality !== undefined && format === 'png')
    throw invalidParamError(
      'quality',
      'quality is for jpeg, webp and avif only: send one of these formats, or leave it out.',
    );
  return { width, height, scale, encode: { format, ...withoutAbsentFields({ quality }) } };
}

/** What is known of a render's picture before it is drawn. A page without a background is transparent. */
function predictedPictureOf({
  width,
  height,
  scale,
  encode: { format },
}: ReturnType<typeof parseDrawingOptions>) {
  const size = { width: Math.round(width * scale), height: Math.round(height * scale) };
  return { format, ...size, frames: 1, transparency: format === 'jpeg' ? false : null };
}

/** Parses a format. Other names of formats are accepted, such as jpg. */
function parseFormat(sent: string): (typeof RENDER_FORMATS)[number] {
  const format = RENDER_FORMATS.find((known) => known === normalizeFormatName(sent));
  if (format !== undefined) return format;
  const message = `format is ${JSON.stringify(sent)}, but one of ${RENDER_FORMATS.join(', ')} is expected.`;
  throw unknownWordError(sentFieldAt('format'), sent, RENDER_FORMATS, (hint) => `${message}${hint}`);
}
