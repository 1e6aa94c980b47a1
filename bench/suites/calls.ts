import { readImageHeader } from '../../src/imaging/images/header/header.ts';
import { cameraFiles } from '../load/pictures.ts';
import type {
  BenchPicture,
  CallResponse,
  CaseContext,
  Expectation,
  HttpCall,
  LoadCase,
} from '../load/suite.ts';

/** The kinds of calls that several suites send. */

const JSON_HEADERS = { 'content-type': 'application/json' };

function jsonCall(path: string, body: object): HttpCall {
  return { method: 'POST', path, headers: JSON_HEADERS, body: Buffer.from(JSON.stringify(body)) };
}

/** The picture whose size is nearest to a number of megapixels. */
function nearestPicture(pictures: readonly BenchPicture[], megapixels: number): BenchPicture {
  const distance = (picture: BenchPicture) => Math.abs(Math.log(megapixelsOf(picture) / megapixels));
  const [picture] = pictures.toSorted((a, b) => distance(a) - distance(b));
  if (picture === undefined) throw new Error('A suite needs a picture.');
  return picture;
}

function megapixelsOf({ bytes }: BenchPicture): number {
  const header = readImageHeader(bytes);
  return header === null ? 1 : (header.width * header.height) / 1e6;
}

function transformOf(query: string, picture: BenchPicture): HttpCall {
  return {
    method: 'POST',
    path: `/api/v1/images/transform?${query}`,
    headers: { 'content-type': picture.type },
    body: picture.bytes,
    expects: expectationOf(query, picture),
  };
}

/** The image that a query asks for: its format, and the width of a resize, which never enlarges. */
function expectationOf(query: string, { bytes }: BenchPicture): Expectation {
  const asked = new URLSearchParams(query);
  const format = asked.get('format');
  const expected = { type: `image/${format ?? ''}` };
  const header = readImageHeader(bytes);
  if (asked.get('op') !== 'resize' || header === null) return expected;
  const own = header.orientation > 4 ? header.height : header.width;
  return { ...expected, width: Math.min(own, Number(asked.get('width'))) };
}

/** Calls that transform the picture nearest to a number of megapixels by one query. */
export function transforms(megapixels: number, query: string): LoadCase {
  return {
    description: `The picture nearest to ${megapixels} megapixels: ${query}.`,
    async prepare({ pictures }) {
      const call = transformOf(query, nearestPicture(pictures, megapixels));
      return () => call;
    },
  };
}

/** Calls that transform files of 3 to 8 MB, as cameras write them, by one query. */
export function cameraBodies(query: string): LoadCase {
  return {
    description: `Files of 3 to 8 MB as bodies: ${query}.`,
    async prepare({ pictures }) {
      const calls = (await cameraFiles(pictures)).map((picture) => transformOf(query, picture));
      return (turn) => calls[turn % calls.length] as HttpCall;
    },
  };
}

/** The probe of a load balancer, which a loaded host must still answer. */
export const health: LoadCase = {
  description: 'Probes of /healthz, which cost no pixels and which balancers ask for.',
  prepare: async () => () => ({ method: 'GET', path: '/healthz' }),
};

/** A web page's pictures: uploaded once, then requested in the widths that pages use. */
export const webPages: LoadCase = {
  description: 'Pages ask for stored pictures in the widths of a srcset, as WebP.',
  async prepare(context) {
    const assetIds = await uploadAll(context);
    const widths = [320, 480, 640, 960, 1280];
    return (turn) => {
      const query = `op=resize&width=${widths[turn % widths.length]}&format=webp`;
      const index = Math.floor(turn / widths.length) % assetIds.length;
      const call = jsonCall(`/api/v1/images/transform?${query}`, { assetId: assetIds[index] });
      return { ...call, expects: expectationOf(query, context.pictures[index] as BenchPicture) };
    };
  },
};

/**
 * Calls that transform stored pictures by the queries of a log, in its order. Each picture of the log is always
 * replaced by the same picture: the one with the nearest file size if the log has sizes, else the next one.
 */
export async function storedTransforms(
  context: CaseContext,
  recorded: ReadonlyArray<{ query: string; source: string | null; bytes: number | null }>,
): Promise<(turn: number) => HttpCall> {
  const assetIds = await uploadAll(context);
  const { pictures } = context;
  const sources = new Map<string, number>();
  const indexOf = ({ source, bytes }: { source: string | null; bytes: number | null }, turn: number) => {
    if (bytes !== null) return nearestBytes(pictures, bytes);
    if (source === null) return turn % pictures.length;
    const known = sources.get(source) ?? sources.size % pictures.length;
    sources.set(source, known);
    return known;
  };
  const calls = recorded.map((one, turn) => {
    const index = indexOf(one, turn);
    const call = jsonCall(`/api/v1/images/transform?${one.query}`, { assetId: assetIds[index] });
    return { ...call, expects: { type: expectationOf(one.query, pictures[index] as BenchPicture).type } };
  });
  return (turn) => calls[turn % calls.length] as HttpCall;
}

function nearestBytes(pictures: readonly BenchPicture[], size: number): number {
  const distances = pictures.map(({ bytes }) => Math.abs(Math.log(bytes.length / Math.max(1, size))));
  return distances.indexOf(Math.min(...distances));
}

/** The calls of an agent that works on a picture, in sequence. */
export const agents: LoadCase = {
  description: 'Agents look at a picture, crop, redact, write on it and make it smaller, by body.',
  async prepare({ pictures }) {
    const page = nearestPicture(pictures, 2);
    const queries = [
      'op=resize&width=800&format=webp',
      'op=crop&aspect=1:1&gravity=attention',
      `op=redact&regions=${encodeURIComponent('[{"x":10,"y":10,"width":200,"height":80}]')}`,
      'op=text&text=Draft&position=southeast&size=48',
      'op=thumbnail&size=256',
      'op=convert&format=png',
    ];
    const metadata: HttpCall = {
      ...transformOf('', page),
      path: '/api/v1/images/metadata',
      expects: { type: 'application/json' },
    };
    const calls = [metadata, ...queries.map((query) => transformOf(query, page))];
    return (turn) => calls[turn % calls.length] as HttpCall;
  },
};

/** Share pictures from a built-in template, with a new title each time. */
export const cards: LoadCase = {
  description: 'A share picture of a built-in template, its title new each time.',
  async prepare() {
    return (turn) =>
      jsonCall('/api/v1/images/render', {
        templateId: 'builtin-template-social-card',
        data: { title: `Card number ${turn}` },
      });
  },
};

/** Small queries about the account, which cost no pixels. */
export const questions: LoadCase = {
  description: 'Small questions about the account, which cost no pixels.',
  async prepare() {
    const paths = ['/api/v1/credits', '/api/v1/account', '/api/v1/assets?perPage=20', '/api/v1/ops'];
    return (turn) => ({ method: 'GET', path: paths[turn % paths.length] as string });
  },
};

const FINAL_STATUSES = ['COMPLETED', 'FAILED', 'CANCELLED'];

interface JobResponse {
  data: { id: string; status: string; outcome?: string };
}

function jobOf(answer: CallResponse): JobResponse['data'] {
  return (JSON.parse(answer.body.toString('utf8')) as JobResponse).data;
}

/** The error of a job whose items were not all made; null otherwise. */
function jobError(answer: CallResponse): string | null {
  const { status, outcome } = jobOf(answer);
  return FINAL_STATUSES.includes(status) && outcome !== 'all' ? `job ${status}, outcome ${outcome}` : null;
}

/** A batch as one job, followed until it has ended: `items` stored pictures through one op. */
export function batches(items: number): LoadCase {
  return {
    description: `Jobs of ${items} items, a resize of stored pictures each, until they have ended.`,
    items,
    check: jobError,
    follow(answer) {
      const { id, status } = jobOf(answer);
      return FINAL_STATUSES.includes(status) ? null : { method: 'GET', path: `/api/v1/jobs/${id}?wait=60` };
    },
    async prepare(context) {
      const assetIds = await uploadAll(context);
      const batch = Array.from({ length: items }, (_, index) => assetIds[index % assetIds.length]);
      return () =>
        jsonCall('/api/v1/jobs', {
          op: 'resize',
          parameters: { width: 320, format: 'webp' },
          assetIds: batch,
        });
    },
  };
}

/** Jobs of one item. The call that submits a job waits for its end. */
export const waitedJobs: LoadCase = {
  description: 'Jobs of one item, waited for in the call that submits them.',
  check: jobError,
  async prepare(context) {
    const assetIds = await uploadAll(context);
    return (turn) =>
      jsonCall('/api/v1/jobs?wait=30', {
        op: 'thumbnail',
        parameters: { size: 128 },
        assetIds: [assetIds[turn % assetIds.length]],
      });
  },
};

async function uploadAll({ api, pictures }: CaseContext): Promise<string[]> {
  const assetIds: string[] = [];
  for (const picture of pictures) {
    const { id } = await api.post('/assets/upload', picture);
    assetIds.push(String(id));
  }
  return assetIds;
}
