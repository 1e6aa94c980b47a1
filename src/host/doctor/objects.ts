import type { Settings } from '../../../config/index.ts';
import { randomText } from '../../platform/ids/ids.ts';
import { MEGABYTE_BYTES } from '../../platform/values/units.ts';
import { type DoctorFinding, findingsOrProblem, okFinding, problemFinding } from './finding.ts';

const BODY = Buffer.from('written, read and deleted by npm run doctor');
/** A size above that of the largest object that is sent in one request. */
const LARGE_BYTES = 12 * MEGABYTE_BYTES;

/** Checks S3: put, ranged get, multipart and delete, in the same way as the service, under a key of its own. */
export async function checkObjectStore({ stores }: Settings): Promise<DoctorFinding[]> {
  const { S3_BUCKET, S3_ENDPOINT, S3_REGION } = stores;
  if (S3_BUCKET === '') return [okFinding('Objects are files below DATA_DIR: there is no S3 to check.')];
  const { S3ObjectStore } = await import('../../platform/stores/objects/s3.ts');
  const endpoint = S3_ENDPOINT === '' ? {} : { endpoint: S3_ENDPOINT };
  const objects = new S3ObjectStore({ bucket: S3_BUCKET, region: S3_REGION, ...endpoint });
  const key = `doctor/${randomText(16)}`;
  return findingsOrProblem(
    async () => {
      await objects.put(key, BODY, 'text/plain');
      const part = await objects.get(key, { start: 0, end: 6 });
      const read = part === null ? '' : Buffer.concat(await part.body.toArray()).toString();
      await objects.put(key, Buffer.alloc(LARGE_BYTES), 'application/octet-stream');
      return [
        read === 'written'
          ? okFinding(`The bucket ${S3_BUCKET} takes objects, and reads parts of them.`)
          : problemFinding(
              `The bucket ${S3_BUCKET} does not answer ranges.`,
              'Use a store that speaks all of S3.',
            ),
        okFinding('Multipart uploads work.'),
      ];
    },
    (reason) => `The bucket ${S3_BUCKET} does not work: ${reason}.`,
    'Check the key and its rights (put, get, delete, list), S3_BUCKET, S3_REGION and S3_ENDPOINT.',
  ).finally(async () => {
    await objects.delete(key).catch(() => undefined);
    await objects.close();
  });
}
