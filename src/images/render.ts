import { type Static, Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import { ApiError, invalidParam } from '../http/errors.ts';
import { assetIdsIn, type RenderRequest, type Renders } from '../pixels/renders.ts';
import { fill } from '../templates/document.ts';
import { findForRender } from '../templates/reading.ts';
import type { TemplatesStore } from '../templates/store.ts';
import { counted, type LaneOptions, limitsOf, type ReadAsset } from './lane.ts';
import { sendTiming } from './timing.ts';

export interface RenderOptions extends Pick<LaneOptions, 'gate' | 'allowance' | 'readAsset' | 'timeoutMs'> {
  renders: Renders;
  templates: TemplatesStore;
  publicUrl: () => string;
}

const RenderBody = Type.Object({
  templateId: Type.String({ description: 'Id, slug, or either with @version.' }),
  data: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), { description: 'The row: variable name to value.' }),
  ),
});
type RenderBody = Static<typeof RenderBody>;

/** POST /images/render: one template and one row of data to one PNG, while the caller waits. */
export async function renderRoutes(app: FastifyInstance, options: RenderOptions): Promise<void> {
  const { gate, renders, templates, publicUrl, readAsset } = options;

  app.post<{ Body: RenderBody }>(
    '/images/render',
    {
      config: { slot: true, answers: 'image/png' },
      schema: { summary: 'Render a template to a PNG', tags: ['Synchronous images'], body: RenderBody },
    },
    async (request, reply) => {
      const caller = gate.callerOf(request);
      const limits = limitsOf(reply, options.timeoutMs);
      const admitMs = reply.elapsedTime;
      const template = await findForRender(templates, caller.accountId, request.body.templateId);
      const { width, height } = template;
      const html = fill(template, request.body.data ?? {});
      const picture = await counted(options.allowance, caller, 'render_template', async () => {
        const assets = await assetsOf(html, publicUrl(), caller.accountId, readAsset);
        const fetchMs = reply.elapsedTime - admitMs;
        const { accountId } = caller;
        const work = renders.begin({ html, width, height, accountId, assets, ...limits });
        gate.keepSlotUntil(request, work.ended);
        return { ...(await work.result), fetchMs };
      });
      sendTiming(reply, { admitMs, fetchMs: picture.fetchMs, ...picture.timings });
      const { data } = picture;
      return reply.type(picture.contentType).send(Buffer.from(data.buffer, data.byteOffset, data.byteLength));
    },
  );
}

const MOST_ASSETS = 50;
const MOST_ASSET_BYTES = 64 * 1024 * 1024;

/**
 * The account's own assets that a document names. One that is not there, or not the account's, does not load, and the
 * page is drawn without it.
 */
async function assetsOf(
  html: string,
  publicUrl: string,
  accountId: string,
  readAsset: ReadAsset,
): Promise<RenderRequest['assets']> {
  const ids = assetIdsIn(html, publicUrl);
  if (ids.length > MOST_ASSETS) {
    throw invalidParam('data', `The page names ${ids.length} assets: at most ${MOST_ASSETS} are loaded.`, {
      limit: MOST_ASSETS,
    });
  }
  const assets: RenderRequest['assets'] = {};
  let sizeBytes = 0;
  for (const id of ids) {
    const asset = await readAsset(accountId, id).catch(unlessAbsent);
    if (asset === null) continue;
    sizeBytes += asset.bytes.length;
    if (sizeBytes > MOST_ASSET_BYTES) {
      throw invalidParam(
        'data',
        `The assets of the page are larger than ${MOST_ASSET_BYTES} bytes together.`,
        { limit: MOST_ASSET_BYTES },
      );
    }
    assets[id] = { data: asset.bytes, contentType: asset.declaredType ?? 'application/octet-stream' };
  }
  return assets;
}

function unlessAbsent(error: unknown): null {
  if (error instanceof ApiError && (error.code === 'asset_not_found' || error.code === 'invalid_state'))
    return null;
  throw error;
}
