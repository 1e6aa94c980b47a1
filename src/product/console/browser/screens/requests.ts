import type { QueryOf } from '../../../../client/calls.ts';
import type { Fix } from '../../../../client/errors.ts';
import type { RequestErrorGroup, RequestRecord } from '../../../../client/schema.ts';
import { api } from '../api.ts';
import { html } from '../html.ts';
import { Tabs } from '../parts/controls.ts';
import {
  Filters,
  idColumn,
  ListCount,
  LiveSwitch,
  timeColumn,
  useLiveList,
  withoutEmptyFilters,
} from '../parts/lists.ts';
import {
  Empty,
  ErrorBox,
  fixView,
  LabelledValues,
  NotLoadedPage,
  Page,
  Placeholder,
  Section,
} from '../parts/page.ts';
import { useLoad, usePoll } from '../parts/reading.ts';
import { type Column, Table } from '../parts/table.ts';
import {
  ByteSize,
  Code,
  Count,
  Id,
  Milliseconds,
  Status,
  Time,
  TimingBar,
  type Tone,
} from '../parts/values.ts';
import { addressOf, type ScreenProps, useQuery } from '../router.ts';

const REQUESTS_PATH = '/console/requests';
const REQUESTS_POLL_INTERVAL_MS = 3_000;
/** Almost every path begins with this prefix, so it is not shown. */
const API_PREFIX_PATTERN = /^\/api\/v1(?=\/)/;
/** Matches the paths of calls whose body is a picture. */
const PICTURE_CALL_PATTERN = /^\/api\/v1\/(images\/(?!render)|assets\/upload)/;

const NO_FILTERS = {
  view: 'list',
  requestId: '',
  status: '',
  errorCode: '',
  operation: '',
  path: '',
  apiKeyId: '',
  from: '',
  to: '',
};
type RequestListFilters = typeof NO_FILTERS;

/** The screen of the account's recent calls, and of the errors among them. */
export default function RequestsScreen({ rest }: ScreenProps) {
  return rest === '' ? html`<${RequestLog} />` : html`<${RequestPage} id=${decodeURIComponent(rest)} />`;
}

function RequestLog() {
  const [filters, setFilters] = useQuery(NO_FILTERS);
  const { view } = filters;
  return html`<${Page}
    title="Requests"
    lead="The last 1,000 calls of this account within the last hour, by every key and session. Bodies are not kept."
  >
    <${Tabs}
      label="What is shown"
      choices=${[{ name: 'list', label: 'All calls' }, { name: 'errors', label: 'Errors by cause' }]}
      current=${view}
      onChoose=${(view: string) => setFilters({ view })}
    />
    <${Filters} fields=${REQUEST_FILTER_FIELDS} values=${filters} onChange=${setFilters} />
    ${view === 'errors' ? html`<${ErrorList} filters=${filters} />` : html`<${CallList} filters=${filters} />`}
  <//>`;
}

const STATUS_CHOICES = ['2xx', '4xx', '5xx', '400', '401', '402', '403', '404', '422', '429', '500', '503'];
const REQUEST_FILTER_FIELDS = [
  { name: 'path', label: 'Path begins with', kind: 'search', placeholder: '/api/v1/jobs' },
  {
    name: 'status',
    label: 'Status',
    kind: 'choice',
    choices: [{ value: '', label: 'Any' }, ...STATUS_CHOICES],
  },
  { name: 'errorCode', label: 'Error code', kind: 'text' },
  { name: 'operation', label: 'Operation', kind: 'text' },
  { name: 'requestId', label: 'Request id', kind: 'text' },
  { name: 'from', label: 'From', kind: 'instant' },
  { name: 'to', label: 'To', kind: 'instant' },
] as const;

function requestListQueryOf({ view: _, ...filters }: RequestListFilters): QueryOf<'GET /requests'> {
  return withoutEmptyFilters(filters);
}

function CallList({ filters }: { filters: RequestListFilters }) {
  const query = requestListQueryOf(filters);
  const isFiltered = Object.keys(query).length > 0;
  const list = useLiveList<RequestRecord>((signal) => api.requests.list(query, { signal }), [query], {
    keyOf: keyOfRequest,
    everyMs: REQUESTS_POLL_INTERVAL_MS,
  });
  return html`
    <div class="list-head">
      <${ListCount} total=${list.total} nouns=${['call', 'calls']} />
      <${LiveSwitch} ...${list} />
    </div>
    <${Table}
      label="Calls"
      columns=${REQUEST_COLUMNS}
      ...${list}
      keyOf=${keyOfRequest}
      hrefOf=${({ id }: RequestRecord) => `${REQUESTS_PATH}/${encodeURIComponent(id)}`}
      empty=${
        isFiltered
          ? html`<${Empty} title="No call of the last hour matches" text="Widen the filters, or take one away." />`
          : html`<${Empty}
              title="No calls within the last hour"
              text="Make one with a key, and it appears here a moment later."
              action=${html`<a class="button primary" href="/console/playground">Open the playground</a>`}
            />`
      }
    />
  `;
}

/** The key of a row. The request id alone is not unique, because callers may choose it. */
function keyOfRequest({ id, at }: RequestRecord): string {
  return `${id} ${at}`;
}

const REQUEST_COLUMNS: readonly Column<RequestRecord>[] = [
  {
    title: 'Call',
    of: ({ method, path }) =>
      html`<span class="method">${method}</span> <code title=${path}>${path.replace(API_PREFIX_PATTERN, '')}</code>`,
  },
  { title: 'Status', width: '6em', of: ({ status }) => html`<${HttpStatus} status=${status} />` },
  {
    title: 'Error',
    isHiddenWhenNarrow: true,
    width: '11em',
    of: ({ error }) =>
      error &&
      html`<span title=${error.message}>${error.reason ?? error.code}${error.param && ` at ${error.param}`}</span>`,
  },
  {
    title: 'Took',
    isNumber: true,
    width: '7em',
    of: ({ durationMs }) => html`<${Milliseconds} value=${durationMs} />`,
  },
  {
    title: 'Sent',
    isNumber: true,
    isHiddenWhenNarrow: true,
    width: '7.5em',
    of: ({ bytesOut }) => html`<${ByteSize} value=${bytesOut} />`,
  },
  timeColumn('at', 'At'),
  idColumn({ width: '11em' }),
];

function HttpStatus({ status }: { status: number }) {
  const tone: Tone = status < 400 ? 'good' : status < 500 ? 'warn' : 'bad';
  return html`<${Status} status=${String(status)} tone=${tone} />`;
}

function ErrorList({ filters }: { filters: RequestListFilters }) {
  const query = requestListQueryOf(filters);
  const read = (signal: AbortSignal) => api.requests.errors(query, { signal });
  const { data, error, isLoading, reload, ...live } = usePoll(read, [query], REQUESTS_POLL_INTERVAL_MS);
  if (data === undefined && isLoading) return html`<${Placeholder} />`;
  return html`
    <div class="list-head">
      <${ListCount} total=${data?.length} nouns=${['cause', 'causes']} />
      <${LiveSwitch} ...${live} />
    </div>
    <${ErrorBox} error=${error} onRetry=${reload} />
    ${
      data?.length === 0 &&
      html`<${Empty} title="Nothing was refused" text="Errors of the last hour are listed here, grouped by operation and cause." />`
    }
    <ul class="cards">
      ${data?.map(
        (group) => html`<li key=${JSON.stringify([group.operation, group.code, group.reason, group.param])}>
          <${ErrorCause} group=${group} />
        </li>`,
      )}
    </ul>
  `;
}

function ErrorCause({ group }: { group: RequestErrorGroup }) {
  const { method, operation, route, code, reason, param, message, fix, count, lastAt, lastRequestId } = group;
  const calls = addressOf(REQUESTS_PATH, { errorCode: code, operation });
  return html`<article class="card">
    <div class="card-head">
      <h3>
        <a href=${`/docs/errors/${code}`} target="_blank" rel="noopener">${code}</a>
        ${reason && html` <span class="quiet">${reason}</span>`}
        ${param && html` <span class="quiet">at <code>${param}</code></span>`}
      </h3>
      <a href=${calls}><${Count} value=${count} /> ${count === 1 ? 'call' : 'calls'}</a>
    </div>
    <p class="quiet">
      <span class="method">${method}</span>
      <a href=${`/docs/${operation}`} target="_blank" rel="noopener"><code>${route}</code></a>
    </p>
    <p>${message}</p>
    <${Fixes} fix=${fix} />
    <p class="quiet">
      Last at <${Time} at=${lastAt} />,${' '}
      <a href=${`${REQUESTS_PATH}/${encodeURIComponent(lastRequestId)}`}>look at that call</a>
    </p>
  </article>`;
}

function Fixes({ fix }: { fix: unknown[] | undefined }) {
  if (fix === undefined || fix.length === 0) return null;
  return html`<div class="fix">
    <strong>Fix</strong>
    <ul>${(fix as Fix[]).map((one, index) => html`<li key=${index}>${fixView(one)}</li>`)}</ul>
  </div>`;
}

function RequestPage({ id }: { id: string }) {
  const above = { title: 'Requests', path: REQUESTS_PATH };
  const { data, error, reload } = useLoad((signal) => api.requests.get(id, { signal }), [id]);
  if (data === undefined)
    return html`<${NotLoadedPage} title="Request" above=${above} error=${error} reload=${reload} />`;
  const { method, route, operation, path, status, at, durationMs, bytesIn, bytesOut, apiKeyId, warnings } =
    data;
  return html`<${Page} title=${`${method} ${route}`} above=${above}>
    <${LabelledValues}
      of=${[
        ['Status', html`<${HttpStatus} status=${status} />`],
        ['At', html`<${Time} at=${at} />`],
        ['Took', html`<${Milliseconds} value=${durationMs} />`],
        ['Request id', html`<${Id} id=${data.id} />`],
        ['Operation', html`<a href=${`/docs/${operation}`} target="_blank" rel="noopener">${operation}</a>`],
        ['By', apiKeyId === undefined ? 'a session of the console' : html`<${Id} id=${apiKeyId} />`],
        ['Body received', bytesIn === undefined ? undefined : html`<${ByteSize} value=${bytesIn} />`],
        ['Answer sent', bytesOut === undefined ? undefined : html`<${ByteSize} value=${bytesOut} />`],
      ]}
    />
    ${data.error && html`<${Refusal} error=${data.error} />`}
    ${
      warnings &&
      html`<${Section} title="Warnings">
        <ul>${warnings.map((warning) => html`<li key=${warning}><code>${decodedText(warning)}</code></li>`)}</ul>
      <//>`
    }
    ${data.timing && html`<${Section} title="Where the time went"><${TimingBar} timing=${data.timing} /><//>`}
    <${Section} title="The same call">
      <${Code} samples=${[{ label: 'curl', code: curlCommandOf(data) }, { label: 'Path', code: path }]} />
      <p class="quiet">Bodies and credentials are not kept: put your own in.</p>
    <//>
  <//>`;
}

function Refusal({ error }: { error: NonNullable<RequestRecord['error']> }) {
  const { code, message, param, reason, retryable, fix } = error;
  return html`<${Section} title="Why it was refused">
    <${LabelledValues}
      of=${[
        ['Code', html`<a href=${`/docs/errors/${code}`} target="_blank" rel="noopener">${code}</a>`],
        ['Reason', reason],
        ['Parameter', param && html`<code>${param}</code>`],
        ['Worth repeating', retryable ? 'yes, after a while' : 'no, until it is fixed'],
      ]}
    />
    <p>${message}</p>
    <${Fixes} fix=${fix} />
  <//>`;
}

/**
 * The call as a curl command.
 * @param bytesIn the size of the request body in bytes. Absent: the command sends no body.
 */
function curlCommandOf({ method, path, bytesIn }: RequestRecord): string {
  const quoted = `'${`${location.origin}${path}`.replaceAll("'", "'\\''")}'`;
  const [type, file] = PICTURE_CALL_PATTERN.test(path)
    ? ['image/jpeg', 'photo.jpg']
    : ['application/json', 'body.json'];
  const lines = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}${quoted}`,
    '  -H "Authorization: ApiKey $KEY"',
    ...(bytesIn ? [`  -H "Content-Type: ${type}" --data-binary @${file}`] : []),
  ];
  return lines.join(' \\\n');
}

function decodedText(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
