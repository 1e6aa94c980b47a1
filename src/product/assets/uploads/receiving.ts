import type { ApiError } from '../../../platform/http/errors/errors.ts';
import { asApiError } from '../../../platform/http/errors/failures.ts';
import type { Labels } from '../asset.ts';
import type { IncomingBody, IncomingImage } from './incoming.ts';
import type { Arrival, UploadedAsset, Uploads } from './uploads.ts';

/** A file that became no asset. */
export interface RefusedFile {
  name: string | null;
  refusal: ApiError;
}

type Terms = Parameters<Uploads['finish']>;

interface Received {
  /** What became of each image, in the order of the body. */
  outcomes: (UploadedAsset | RefusedFile)[];
  /** The names of parts that nobody reads. */
  ignored: string[];
}

/**
 * Stores the images of a body, one after the other. One that is refused leaves the others as they are. Before the body
 * has ended, none of them becomes an asset, so that a body with a fault leaves nothing.
 * @throws ApiError for a fault of the body.
 */
export async function receiveImages(
  uploads: Uploads,
  {
    body,
    owner,
    labels,
    options,
  }: { body: IncomingBody; labels: Labels; owner: Terms[0]; options: Terms[2] },
): Promise<Received> {
  const arrivals: (Arrival | RefusedFile)[] = [];
  let ignored: string[];
  try {
    for await (const image of body.images) arrivals.push(await arrive(image));
    ignored = await body.end();
  } catch (error) {
    for (const arrival of arrivals) if ('sums' in arrival) await uploads.abandon(arrival);
    throw error;
  }
  const outcomes: Received['outcomes'] = [];
  for (const arrival of arrivals) outcomes.push('sums' in arrival ? await finish(arrival) : arrival);
  return { outcomes, ignored };

  async function arrive(sent: IncomingImage): Promise<Arrival | RefusedFile> {
    using image = sent;
    return await uploads.arrive(owner, labels, image).catch(refusedAs(labels.name ?? image.filename));
  }

  function finish(arrival: Arrival): Promise<UploadedAsset | RefusedFile> {
    return uploads.finish(owner, arrival, options).catch(refusedAs(arrival.document.name));
  }
}

function refusedAs(name: string | null): (error: unknown) => RefusedFile {
  return (error) => ({ name, refusal: asApiError(error) });
}
