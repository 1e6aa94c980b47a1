import { type Static, Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import type { Pass } from '../../../workers/protocol.ts';
import type { RenderRequest, Renders } from '../../imaging/renders/renders.ts';
import { REFERENCE } from '../../platform/http/documented.ts';
import { ApiError, invalidParam } from '../../platform/http/errors/errors.ts';
import { addWarnings } from '../../platform/http/hooks/warnings.ts';
import { present } from '../../platform/values/present.ts';
import { MEGABYTE } from '../../platform/values/units.ts';
import type { AssetReader } from '../assets/content/reader.ts';
import { formatInOwnSpelling } from '../catalogue/checks/spelling.ts';
import { fill, type RenderPage } from '../templates/document.ts';
import { blockedWarnings, escapedInCssWarnings, variableWarnings } from '../templates/findings.ts';
import type { Templates } from '../templates/open.ts';
import { sentPage } from '../templates/rules.ts';
import { PAGE_FIELDS } from '../templates/schema.ts';
import { assetIdsIn, withAssetScheme } from './asset-references.ts';
import type { DeclaredImage } from './declared-type.ts';
import type { FontOptions } from './fonts.ts';
import {
  beginCall,
  type CallTerms,
  counted,
  type MeteredCallOptions,
  type SyncCall,
  sendPicture,
} from './metered-call.ts';

export interface RenderOptions
  extends Pick<MeteredCallOptions, 'gate' | 'imageWorkers' | 'assets' | 'allowance' | 'meters' | 'timeoutMs'>,
    FontOptions {
  renders: Renders;
  templates: Pick<Templates, 'findForRender'>;
  publicUrl: () => string;
}

const FORMATS = ['png', 'jpeg', 'webp', 'avif'] as const;
const MAX_EDGE_PX = 4096;

const RenderBody = Type.Object(
  {
    templateId: Type.Optional(
      Type.String({
        description:
          'Id, slug, or either with @version; a built-in also by its short name, such as social-card. Or send html.',
        documented: REFERENCE,
      }),
    ),
    ...Type.Partial(Type.Object(PAGE_FIELDS)).properties,
    data: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), { description: 'The row: variable name to value.' }),
    ),
    format: Type.Optional(
      Type.String({ description: 'Of the picture; png when left out.', documented: { enum: FORMATS } }),
    ),
    quality: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100, description: 'Of a jpeg, webp or avif.' }),
    ),
    scale: Type.Optional(
      Type.Number({
        minimum: 1,
        maximum: 3,
        description:
          'Pixels of the picture per pixel of the template; the picture has at most 4096 per edge. 1 when left out.',
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
    instead: { template: 'name the template in templateId' },
    documented: { oneOf: [{ required: ['templateId'] }, { required: ['html', 'width', 'height'] }] },
    elsewhere: "the values of the template's variables go into data",
  },
);
type RenderBody = Static<typeof RenderBody>;

/**
 * POST /images/render: renders one template, or the html of the call, with one row of data to one picture, while the
 * caller waits.
 */
export async function renderRoutes(app: FastifyInstance, options: RenderOptions): Promise<void> {
  const { renders, templates } = options;

  app.post<{ Body: RenderBody }>(
    '/images/render',
    {
      config: { slot: 'calls', responseType: 'image/*' },
      schema: {
        summary: 'Render a template, or html, to a picture',
        description:
          'Fills a stored template (`templateId`), or the `html` and `css` of the call in a picture of `width` by `height`, with one row of `data`. Nothing is stored.',
        body: RenderBody,
      },
    },
    async (request, reply) => {
      const underWay = beginCall(request, reply, options);
      const { caller, terms, finish } = underWay;
      const { template, param } = await findPage(request.body, caller.accountId);
      const drawing = parseDrawing(request.body, template);
      const row = request.body.data ?? {};
      const html = withAssetScheme(fill(template, row), options.publicUrl());
      const picture = await counted(options.allowance, caller, 'render_template', async () => {
        const { assets, missing } = await assetsOfPage(html, { ...options, terms, finish });
        const fetchMs = underWay.admittedMs();
        const drawn = await finish(renders.begin({ html, ...drawing, ...terms, assets, param }));
        return { ...drawn, fetchMs, queueMs: drawn.timings.queueMs, missing, bytesIn: html.length };
      });
      addWarnings(reply, [
        ...variableWarnings(template, row),
        ...escapedInCssWarnings(template, row),
        ...blockedWarnings(html),
        ...picture.missing.map((name) => ({ code: 'missing_asset', name })),
        ...(await options.fonts.findWarnings(picture.text)),
      ]);
      underWay.ran('render_template', { ...picture, bytesOut: picture.data.length });
      return sendPicture(reply, picture);
    },
  );

  /** The page of a call, and the field that brought it. */
  async function findPage(
    body: RenderBody,
    accountId: string,
  ): Promise<{ template: RenderPage; param: string }> {
    const { templateId, html } = body;
    if (html === undefined) {
      const reference = requireTemplate(body);
      return { template: await templates.findForRender(accountId, reference), param: 'templateId' };
    }
    if (templateId !== undefined)
      throw invalidParam('html', 'html and templateId exclude each other: send one of them.');
    return { template: sentPage({ ...body, html }), param: 'html' };
  }
}

/**
 * The template that a call without html names.
 * @throws ApiError invalid_param on `templateId` where there is none; on `css`, `width` or `height` beside it.
 */
function requireTemplate({ templateId, css, width, height }: RenderBody): string {
  if (templateId === undefined)
    throw invalidParam(
      'templateId',
      'templateId is missing: name a template, or send html, width and height.',
    );
  const [extra] = Object.keys(present({ css, width, height }));
  if (extra === undefined) return templateId;
  throw invalidParam(extra, `${extra} goes with html, and a template has its own: leave it out.`);
}

/**
 * The size of a page, and the encoding of its picture.
 * @throws ApiError invalid_param on `format`, `scale` or `quality`.
 */
function parseDrawing(
  { format: sent = 'png', quality, scale = 1 }: RenderBody,
  { width, height }: { width: number; height: number },
) {
  const format = parseFormat(sent);
  const edge = Math.round(Math.max(width, height) * scale);
  if (edge > MAX_EDGE_PX) {
    const message = `scale makes an edge of ${edge} pixels, but at most ${MAX_EDGE_PX} are drawn: send a smaller one.`;
    throw invalidParam('scale', message, { received: scale, limit: MAX_EDGE_PX });
  }
  if (quality !== undefined && format === 'png')
    throw invalidParam(
      'quality',
      'quality is for jpeg, webp and avif only: send one of these formats, or leave it out.',
    );
  return { width, height, scale, encode: { format, ...present({ quality }) } };
}

/** Resolves format aliases (jpg → jpeg). */
function parseFormat(sent: string): (typeof FORMATS)[number] {
  const format = FORMATS.find((known) => known === formatInOwnSpelling(sent));
  if (format !== undefined) return format;
  const message = `format is ${JSON.stringify(sent)}, but one of ${FORMATS.join(', ')} is expected.`;
  throw invalidParam('format', message, { received: sent, allowed: FORMATS });
}

const MAX_ASSETS = 50;
const MAX_ASSET_BYTES = 64 * MEGABYTE;

/** Formats that the service reads but a browser cannot draw. */
const UNDRAWN: readonly (string | null)[] = ['image/tiff'];

/** The dependencies of assetsOfPage, which reads the assets of one call. */
interface PageAssetOptions extends Pick<RenderOptions, 'imageWorkers'> {
  assets: Pick<AssetReader, 'read'>;
  terms: CallTerms;
  /** The result of work on an asset. */
  finish: SyncCall['finish'];
}

/**
 * The account's own assets that a document references. An asset that does not exist, or is another account's, does not
 * load, and the page is drawn without it.
 * @param html as withAssetScheme made it
 * @returns the assets by id, and the ids of those that are missing.
 */
export async function assetsOfPage(
  html: string,
  options: PageAssetOptions,
): Promise<{ assets: RenderRequest['assets']; missing: string[] }> {
  const ids = assetIdsIn(html);
  if (ids.length > MAX_ASSETS) {
    const message = `The page names ${ids.length} assets: at most ${MAX_ASSETS} are loaded.`;
    throw invalidParam('data', message, { limit: MAX_ASSETS });
  }
  const assets: RenderRequest['assets'] = {};
  const missing: string[] = [];
  let sizeBytes = 0;
  for (const id of ids) {
    const asset = await options.assets.read(options.terms.accountId, id).catch(unlessAbsent);
    if (asset === null) {
      missing.push(id);
      continue;
    }
    const drawable = await makeDrawable(id, asset, options);
    sizeBytes += drawable.data.length;
    if (sizeBytes > MAX_ASSET_BYTES) {
      const message = `The assets of the page are larger than ${MAX_ASSET_BYTES} bytes together.`;
      throw invalidParam('data', message, { limit: MAX_ASSET_BYTES });
    }
    assets[id] = drawable;
  }
  return { assets, missing };
}

/**
 * An asset in a form that a browser can draw: its file, or a PNG of its first picture.
 * @throws ApiError invalid_param on data when no PNG can be made of it; provider_unavailable.
 */
async function makeDrawable(
  id: string,
  { bytes, declaredType }: DeclaredImage,
  { imageWorkers, terms, finish }: PageAssetOptions,
): Promise<RenderRequest['assets'][string]> {
  if (!UNDRAWN.includes(declaredType)) {
    return { data: bytes, contentType: declaredType ?? 'application/octet-stream' };
  }
  const work = imageWorkers.transform({ bytes, pass: AS_PNG, ...terms });
  const { data, contentType } = await finish(work).catch((error) => {
    if (!(error instanceof ApiError) || error.status >= 500) throw error;
    throw invalidParam('data', `The page names ${id}, which cannot be used as a picture: ${error.message}`);
  });
  return { data, contentType };
}

const AS_PNG: Pass = { decode: { frame: 'first' }, steps: [], encode: { format: 'png' } };

function unlessAbsent(error: unknown): null {
  if (error instanceof ApiError && (error.code === 'asset_not_found' || error.code === 'invalid_state'))
    return null;
  throw error;
}
