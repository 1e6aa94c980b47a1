import { invalidParam } from '../../../platform/http/errors/errors.ts';
import { present } from '../../../platform/values/present.ts';
import type { AssetsForJobs } from '../../assets/open.ts';
import { collectionName } from '../../assets/rules.ts';
import type { CheckedJob } from '../../catalogue/plan/job.ts';
import { readWindow } from '../filters.ts';
import { type JobRequest, MAX_ITEMS } from '../schema.ts';

/**
 * The ids of the DONE images that `from` selects, oldest first.
 * @throws ApiError invalid_param on from or its fields, and on imageCount.
 */
export async function selectAssets(
  accountId: string,
  from: NonNullable<JobRequest['from']>,
  assets: Pick<AssetsForJobs, 'select'>,
): Promise<string[]> {
  const { collection, limit } = from;
  const selection = present({
    collection: collection === undefined ? undefined : collectionName(collection, 'from.collection'),
    ...readWindow(from, 'from.'),
  });
  const ids = await assets.select(accountId, selection, limit ?? MAX_ITEMS + 1);
  if (ids.length === 0) {
    const message =
      'from selects no image: it looks for assets that are DONE (GET /api/v1/assets lists them).';
    throw invalidParam('from', message);
  }
  if (ids.length > MAX_ITEMS) {
    const message = `from selects more than ${MAX_ITEMS} images, the most of one job: send limit, or a narrower selection.`;
    throw invalidParam('from', message, { limit: MAX_ITEMS });
  }
  return ids;
}

/**
 * Refuses a selection beside other inputs, or for a job that takes none.
 * @throws ApiError invalid_param on from or imageCount.
 */
export function refuseOtherInputs({ assetIds, imageCount }: JobRequest, { takes }: CheckedJob): void {
  if (assetIds !== undefined)
    throw invalidParam('from', 'from and assetIds exclude each other: send one of them.');
  if (takes !== 'assets') throw invalidParam('from', 'from must be left out: this job takes no pictures.');
  if (imageCount !== undefined)
    throw invalidParam('imageCount', 'imageCount must be left out: from selects the images that are priced.');
}
