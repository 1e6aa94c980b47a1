import type { InstalledFonts } from '../../../imaging/fonts/fonts.ts';
import type { ImageWorkers } from '../../../imaging/images/image-workers.ts';
import type { Renders } from '../../../imaging/renders/renders.ts';
import { ApiError } from '../../../platform/http/errors/errors.ts';
import type { JobAssets } from '../../assets/open.ts';
import { fillTemplate } from '../../templates/document.ts';
import { findPageWarnings } from '../../templates/findings.ts';
import type { TemplatesSlice } from '../../templates/open.ts';
import { findPageAssets, readPageAssets, withAssetScheme } from '../../transforms/page-assets.ts';
import { type ItemCall, ItemFailureError, type SegmentResult } from './perform.ts';

export interface PageWorkOptions {
  fonts: Pick<InstalledFonts, 'findWarnings'>;
  renders: Renders;
  imageWorkers: ImageWorkers;
  templates: Pick<TemplatesSlice, 'findForRender'>;
  assets: JobAssets;
  publicUrl: () => string;
}

/** How long the drawing of a page may take, in milliseconds, without the wait for a browser. */
const PAGE_TIMEOUT_MS = 20_000;

/**
 * Makes the function that works on an item of a render job: it fills the template with the item's row and draws the
 * page.
 */
export function createPageWork(options: PageWorkOptions) {
  const { renders, templates, assets, publicUrl, imageWorkers, fonts } = options;

  /** The template version that was current when the job was submitted, if it still exists. */
  async function readTemplate({ job, definition: { template } }: ItemCall) {
    if (template === undefined) throw new Error(`The render ${job._id} has no template.`);
    try {
      return await templates.findForRender(job.accountId, `${template.id}@${template.version}`);
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'not_found') throw error;
      const message = 'The template was deleted before this row was drawn.';
      throw new ItemFailureError({ code: 'invalid_state', message, mayPass: false, isUnstarted: true });
    }
  }

  return async (call: ItemCall): Promise<SegmentResult> => {
    const { job, item, signal, waitSignal } = call;
    const { accountId } = job;
    const template = await readTemplate(call);
    const row = JSON.parse(item.row ?? '{}');
    const html = withAssetScheme(fillTemplate(template, row), publicUrl());
    const termsFromNow = () =>
      ({ accountId, signal, waitSignal, deadlineMs: Date.now() + PAGE_TIMEOUT_MS, work: 'job' }) as const;
    const { files, missing } = await findPageAssets(html, accountId, assets.reader);
    const terms = termsFromNow();
    const pageAssets = await readPageAssets(files, { imageWorkers, terms, finish: ({ result }) => result });
    const { width, height } = template;
    const page = { html, width, height, assets: pageAssets };
    const drawn = await renders.begin({ ...page, ...termsFromNow() }).result;
    const warnings = [
      ...(await findPageWarnings(template, row, html, missing)),
      ...drawn.warnings,
      ...(await fonts.findWarnings(drawn.text)),
    ];
    return { kind: 'image', bytes: drawn.data, contentType: drawn.contentType, warnings };
  };
}
