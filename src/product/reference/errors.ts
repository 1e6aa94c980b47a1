import { JSON_BOUNDS_TEXT } from '../../platform/http/bodies/json.ts';
import { ERROR_CODES, type ErrorCode } from '../../platform/http/errors/errors.ts';
import {
  type DocumentationPage,
  headingBlock,
  jsonSampleBlock,
  listBlock,
  pageLink,
  paragraphBlock,
  tableBlock,
} from '../../platform/pages/page.ts';

interface ErrorText {
  /** When the service sends this code, in one sentence. */
  meaning: string;
  /** What the caller should do, in one sentence. */
  remedy: string;
  /** The possible causes, each with its remedy. A cause with a `details.reason` begins with that reason. */
  causes?: readonly string[];
  example: { message: string; param?: string; details?: object };
}

/** The date of failures in the examples. */
const EXAMPLE_INSTANT = '2026-01-31T12:00:00.000Z';

const ERROR_TEXTS: Readonly<Record<ErrorCode, ErrorText>> = {
  invalid_param: {
    meaning: 'A field of the call has a value that the interface does not take, or is missing.',
    remedy: 'Fix the field in `param`; `details` has the bounds or the allowed values.',
    causes: [
      'A number is outside its bounds: `details.min` and `details.max` name them.',
      'A word is none of the allowed ones: `details.allowed` lists them.',
      'A field is missing: `details.missing` lists what must be sent.',
      'The op does not declare the parameter: its page lists those that it has.',
      '`details.fix`, if it is there, lists the changes that let the call pass, each proven by the checks of the call: `{"param": "widht", "rename": "width"}`.',
    ],
    example: {
      message: 'width is 50000, but a whole number from 1 to 16384 is expected. Did you mean 16384?',
      param: 'width',
      details: { received: 50_000, expected: 'integer', min: 1, max: 16_384, suggest: [16_384] },
    },
  },
  invalid_state: {
    meaning: 'The call is valid, but not in the state that the resource has now.',
    remedy: 'Read the resource: it has ended, is not ready yet, or was used already.',
    causes: [
      'A job that has ended cannot be cancelled.',
      'An asset without bytes cannot be worked on: send them first.',
    ],
    example: {
      message: 'The job has ended as COMPLETED and cannot be cancelled.',
      param: 'jobId',
      details: { status: 'COMPLETED' },
    },
  },
  unsupported_format: {
    meaning:
      'The bytes are not a picture that this service reads, or not of the type under which they were sent.',
    remedy:
      'Send a JPEG, PNG, WebP, GIF, AVIF, TIFF or SVG of at most 50 megapixels, with its own Content-Type.',
    causes: [
      'The file is damaged, or ends too early.',
      'It has more pixels than the service takes.',
      'Its Content-Type names another format: `details.found` names the one that it has.',
    ],
    example: {
      message: 'The bytes are image/png, but were sent as image/jpeg: send the type that they are.',
      param: 'file',
      details: {
        received: 'image/jpeg',
        found: 'image/png',
        fix: [{ param: 'Content-Type', replace: 'image/png', in: 'header' }],
      },
    },
  },
  unauthorized: {
    meaning: 'The call has no credential, or one that is not valid.',
    remedy: 'Send `Authorization: ApiKey <key>` with a whole key that was not revoked.',
    causes: [
      'The header is missing, or its scheme is another than ApiKey or Bearer.',
      'The key was cut when it was copied: it begins with `drk_`.',
      'The key was revoked, or the account was suspended.',
    ],
    example: {
      message: 'A credential is missing: send the header "Authorization: ApiKey <API_KEY>".',
      param: 'Authorization',
      details: {
        suggest: ['ApiKey <API_KEY>'],
        fix: [{ param: 'Authorization', replace: 'ApiKey <API_KEY>', in: 'header' }],
      },
    },
  },
  insufficient_credit: {
    meaning: 'The account has too few credits for the call, or the call costs more than it allows itself.',
    remedy: 'Send less, raise `maxCredits`, or top up; `details` has the price.',
    causes: [
      'The price is above `maxCredits` of the call.',
      'The balance is below the price: POST /api/v1/jobs with `dryRun=true` says it before.',
    ],
    example: {
      message: 'The job costs 12 credits, and maxCredits is 1: raise it.',
      param: 'maxCredits',
      details: { price: 12, maxCredits: 1 },
    },
  },
  forbidden: {
    meaning: 'The credential is valid, but it may not do this.',
    remedy: 'Ask for a new link, copy the built-in, or sign in: the message says which.',
    causes: [
      '`link_expired`: ask for a new link.',
      '`link_invalid`: the link was changed on its way. Use it as it was given.',
      'A built-in preset or template cannot be changed: make your own from its content.',
      'Keys are managed in a console session, not by a key.',
    ],
    example: {
      message:
        'A built-in preset cannot be changed or deleted: create your own from its steps, under another slug.',
      param: 'slug',
    },
  },
  asset_not_found: {
    meaning: 'No asset of the account has this id.',
    remedy: 'Take an id of GET /api/v1/assets; it begins with `ast_`.',
    example: {
      message: 'There is no asset ast_000000000000000000000000: send ids of your own assets.',
      param: 'assetIds',
      details: { missing: ['ast_000000000000000000000000'] },
    },
  },
  job_not_found: {
    meaning: 'No job of the account has this id.',
    remedy: 'Take an id of GET /api/v1/jobs; it begins with `job_`.',
    example: { message: 'There is no such job: GET /api/v1/jobs lists yours.', param: 'jobId' },
  },
  preset_not_found: {
    meaning: 'No preset of the account has this slug or id, or it does not have this version.',
    remedy: 'Take a slug or id of GET /api/v1/presets, with a version that exists, or without one.',
    example: {
      message: 'No preset of this account has this id or slug: GET /api/v1/presets lists them.',
      param: 'preset',
    },
  },
  not_found: {
    meaning: 'Nothing has this path, or no other resource has this id.',
    remedy: 'Correct the path or the id: the message names the list, or the nearest path.',
    example: {
      message:
        'There is nothing at /api/v1/image/transform: GET /openapi.json lists every path. Did you mean POST /api/v1/images/transform?',
      details: {
        suggest: ['POST /api/v1/images/transform'],
        fix: [{ param: 'path', replace: '/api/v1/images/transform', in: 'request' }],
      },
    },
  },
  method_not_allowed: {
    meaning: 'The path exists, but not with this method.',
    remedy: 'Use a method of `details.allowed`.',
    example: {
      message: 'GET is not a method of this path: use POST.',
      details: {
        allowed: ['POST'],
        suggest: ['POST /api/v1/images/transform'],
        fix: [{ param: 'method', replace: 'POST', in: 'request' }],
      },
    },
  },
  not_acceptable: {
    meaning: 'The Accept header allows no type that the endpoint answers.',
    remedy: 'Leave out `Accept`, or accept one of `details.supported`.',
    example: {
      message: 'This endpoint cannot satisfy "Accept: text/html": it answers JSON.',
      param: 'Accept',
      details: { supported: ['application/json'] },
    },
  },
  idempotency_key_reuse: {
    meaning: 'Another call was made under this Idempotency-Key before.',
    remedy: 'Send a new Idempotency-Key: a corrected call is another call.',
    example: {
      message:
        'This Idempotency-Key was used for another request, or its answer could not be kept: send a new key.',
      param: 'Idempotency-Key',
    },
  },
  request_in_progress: {
    meaning: 'The first call under this Idempotency-Key is still running.',
    remedy: 'Wait, then make the same call with the same key.',
    example: {
      message:
        'The first request under this Idempotency-Key has not answered: repeat the same call after a moment.',
    },
  },
  subscription_not_actionable: {
    meaning: 'The account has no subscription that can be changed in this way.',
    remedy: 'Read GET /api/v1/account: no subscription can be changed so.',
    example: { message: 'The account has no subscription that could be changed.' },
  },
  payload_too_large: {
    meaning: 'The body, a part of it, or the headers are larger than the service takes.',
    remedy: 'Send at most `details.limit` bytes.',
    causes: [
      'A picture is too large: upload it once as an asset, or make it smaller.',
      `A body of JSON is too large. ${JSON_BOUNDS_TEXT}`,
    ],
    example: {
      message: 'The file is over 52428800 bytes: send a smaller one.',
      param: 'file',
      details: { limit: 52_428_800 },
    },
  },
  unsupported_media_type: {
    meaning: 'The Content-Type, or the Content-Encoding, is none that the endpoint reads.',
    remedy: 'Send one of `details.supported` as Content-Type.',
    example: {
      message:
        'The Content-Type text/plain is not supported: send the header "Content-Type: application/json".',
      param: 'Content-Type',
      details: {
        supported: ['application/json'],
        received: 'text/plain',
        fix: [
          { param: 'Content-Type', replace: 'application/json', in: 'header' },
          { param: 'body', replace: { op: 'resize' } },
        ],
      },
    },
  },
  asset_count_exceeded: {
    meaning: 'The plan stores no more assets, or fewer than the call would make.',
    remedy: 'Delete assets or change the plan; `details.left` says how many more fit.',
    example: {
      message: 'The plan stores 100 assets, and 0 more fit: delete some, or change the plan.',
      details: { limit: 100, left: 0 },
    },
  },
  resource_limit_exceeded: {
    meaning: 'The account has as many of something as it may have.',
    remedy: 'Delete what is not needed; the message names the limit.',
    causes: [
      'A preset has its 50 versions: delete one.',
      'A template already has 200 versions: create another template.',
      'The account has its 10 webhook endpoints: delete one, or change its events.',
      'The jobs of the account keep too much: wait until earlier ones are gone.',
    ],
    example: {
      message: 'An account has at most 10 webhook endpoints: delete one first.',
      details: { limit: 10 },
    },
  },
  job_not_resumable: {
    meaning: 'The job has no items to try again, or this attempt may not be resumed.',
    remedy: 'Resume the latest attempt, or submit a new job: see `details.reason`.',
    example: {
      message:
        'This attempt was resumed already: resume the latest one, which GET /api/v1/jobs?rootJobId= lists first.',
      param: 'jobId',
      details: { reason: 'NOT_LATEST_ATTEMPT' },
    },
  },
  provider_rejected: {
    meaning: 'The model refused the prompt, the picture or a parameter.',
    remedy: 'Change the prompt or the picture: the model refused it.',
    example: { message: 'The model refused the prompt: change it, and send the job again.', param: 'prompt' },
  },
  rate_limited: {
    meaning: 'The caller makes more calls at a time, or in a minute, than it may.',
    remedy: 'Wait Retry-After seconds, and send fewer calls at once.',
    causes: [
      '`account_concurrency`: four synchronous calls of the account run already.',
      '`request_rate`: the window of this minute is full; RateLimit-Reset says when it turns.',
      '`failed_authentications`: too many wrong credentials came from this address.',
    ],
    example: {
      message: 'Too many requests in this minute: wait for Retry-After seconds.',
      details: { reason: 'request_rate' },
    },
  },
  service_misconfigured: {
    meaning: 'The operator has to change a setting before this call can succeed.',
    remedy: 'Tell the operator: the same call will fail again.',
    causes: ['The provider of a model refuses the key of the service.', 'The model is no longer offered.'],
    example: { message: 'The model gpt-image-1 is no longer offered.' },
  },
  internal_error: {
    meaning: 'The service failed, and not by the fault of the call.',
    remedy: 'Repeat it a few times; then report `requestId` to the operator.',
    causes: [
      '`store_unavailable`: a store did not answer in time.',
      '`storage_full`: the disk of the service is full. Reading and deleting still work.',
    ],
    example: { message: 'The server failed to answer: repeat the same call, and report the requestId.' },
  },
  provider_unavailable: {
    meaning: 'What the call needs is busy or away for now: workers, a model, or the server of a URL.',
    remedy:
      'Send what `details.instead` has, if it is there; else wait Retry-After seconds. `details.reason` says what is full or unavailable.',
    causes: [
      '`capacity`: the service has too many calls at a time. A job waits for its turn.',
      '`deadline_exceeded`: the call took longer than it may: 10 s unless the operator set TRANSFORM_TIMEOUT_MS. The message says whether most of that time was the work or the waiting for it. Where `details.instead` has parameters that take less, or the job that does it, the same call would be late again: send the first of them. Where a search for a size or a likeness had a file by then, `details.reached` has its bytes, or its likeness, and `details.achieved` its format, quality and bytes.',
      '`url_unavailable`: the server of the URL that was sent did not answer.',
      '`worker_unreachable`: the worker ended with the call.',
    ],
    example: {
      message: 'The service is busy: wait for Retry-After seconds, or send the work as a job.',
      details: { reason: 'capacity' },
    },
  },
};

/** Every error code, in the order of the HTTP statuses. */
export const DOCUMENTED_ERROR_CODES = Object.keys(ERROR_CODES) as ErrorCode[];

export function errorsPage(): DocumentationPage {
  const rows = DOCUMENTED_ERROR_CODES.map((code) => {
    const { status, retryable } = ERROR_CODES[code];
    const address = pageLink(code, `/docs/errors/${code}`);
    return [[address], [String(status)], [retryable ? 'yes' : 'no'], [ERROR_TEXTS[code].remedy]];
  });
  return {
    title: 'Errors',
    lead: 'Every failure has a code of a closed set, and says how to fix the call.',
    blocks: [
      paragraphBlock(
        'A failure is `{"success": false, "error": {"code", "message", "retryable", "param", "details", "requestId", "docUrl"}, "timestamp"}`. Branch on the code. When it is retryable and has no details.instead, wait (Retry-After seconds, else longer each time) and make the same call with the same Idempotency-Key. Otherwise fix the field in param; details has what is allowed, and a sub-reason in details.reason.',
      ),
      paragraphBlock(
        'Where each fault has one certain correction, details.fix lists all of them, in order: `param` is the path of a field as it was sent (in the query if it is there, else in the body, also within a field that is JSON text), with `rename` to another path, `replace` by a value, or `remove`. `in` names another place: `query` or `body` of a field to move, which is removed here and `add`ed there, a `header`, a file `part` of a form, or the `method` or `path` of the `request`. `<API_KEY>` stands for your key, and the param `body` for the whole body. With `decode`, send the decoded bytes as the file. They replace the file, or a field of JSON; in that case, send the other fields beside the file in a form. The service has checked that the corrected call passes, as far as its parameters go. If the request line, a header, a file or the whole body changes, only the next response checks them. details.suggest has the words, numbers or calls of which one was probably meant, or the fields of which one has to go. details.instead has what does the same: `parameters` of the call (or of the output that failed), a `job`, the `jobs` that together do it, `steps`, or the `body` as it was probably meant.',
      ),
      paragraphBlock(
        `${JSON_BOUNDS_TEXT} Beyond that is \`payload_too_large\`, and deeper nesting \`invalid_param\`.`,
      ),
      tableBlock(['code', 'HTTP', 'retryable', 'what to do'], rows),
    ],
  };
}

export function errorPage(code: ErrorCode): DocumentationPage {
  const { meaning, remedy, causes = [], example } = ERROR_TEXTS[code];
  const { status, retryable } = ERROR_CODES[code];
  const { message, ...rest } = example;
  const error = {
    ...{ code, message, retryable, ...rest },
    requestId: '0a1b2c3d-1111-4222-8333-444455556666',
    docUrl: `/docs/errors/${code}`,
  };
  return {
    title: code,
    lead: meaning,
    blocks: [
      listBlock(
        `HTTP status: ${status}`,
        retryable
          ? 'Retryable: yes. Make the same call again after Retry-After seconds, with the same Idempotency-Key.'
          : 'Retryable: no. The same call fails again until it is changed.',
      ),
      jsonSampleBlock('Answer', { success: false, error, timestamp: EXAMPLE_INSTANT }),
      headingBlock('How to fix it'),
      paragraphBlock(remedy),
      ...(causes.length === 0 ? [] : [listBlock(...causes)]),
      paragraphBlock('All codes are in ', pageLink('the page of errors', '/docs/errors'), '.'),
    ],
  };
}
