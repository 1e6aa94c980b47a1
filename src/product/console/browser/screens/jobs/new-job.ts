import type { Fix } from '../../../../../client/errors.ts';
import type {
  AssetCollection,
  JobEstimate,
  JobRequest,
  OpDefinition,
  OpParameter,
} from '../../../../../client/schema.ts';
import { api } from '../../api.ts';
import { html, useEffect, useMemo, useState } from '../../html.ts';
import { Button, errorMessageAt, Field, Form, onText, Select, Tabs } from '../../parts/controls.ts';
import { applyFix, type FormValues } from '../../parts/correcting.ts';
import { ErrorBox, LabelledValues, Page, Placeholder, Section } from '../../parts/page.ts';
import { useAction, useLoad } from '../../parts/reading.ts';
import { Count, countText } from '../../parts/values.ts';
import { navigate, useQuery } from '../../router.ts';
import { JOBS_PATH } from './facts.ts';

/** The contents of the form for a new job. */
interface JobDraft {
  prompt: string;
  assetIds: string;
  fromCollection: string;
  into: string;
  values: FormValues;
  json: string;
}

const EMPTY_DRAFT: JobDraft = {
  prompt: '',
  assetIds: '',
  fromCollection: '',
  into: '',
  values: {},
  json: '',
};
const EXAMPLE_REQUEST = JSON.stringify({ op: 'generate', prompt: 'A lighthouse at dusk' }, null, 2);

/** The form for a new job. A dry run shows the price, and the submit button sends exactly the job that was priced. */
export function NewJob() {
  const [{ op, by, job }, setQuery] = useQuery({ op: 'resize', by: 'form', job: '' });
  const [draft, setDraft] = useState(EMPTY_DRAFT);
  const [priced, setPriced] = useState<{ body: string; estimate: JobEstimate }>();
  const pricing = useAction();
  const submitting = useAction();
  const ops = useLoad((signal) => api.ops.list({ signal }), []);
  const collections = useLoad((signal) => api.request('GET', '/collections', { signal }), []);
  const definition = ops.data?.find((one) => one.op === op);
  const change = (part: Partial<JobDraft>) => setDraft((last) => ({ ...last, ...part }));
  const body = useMemo(
    () =>
      by === 'json' ? draft.json || EXAMPLE_REQUEST : JSON.stringify(requestOfDraft(op, definition, draft)),
    [by, op, definition, draft],
  );
  const take = (request: JobRequest) => {
    const taken = draftOfRequest(request);
    pricing.clear();
    submitting.clear();
    setDraft(taken);
    setQuery({ op: request.op ?? 'resize', by: taken.json === '' ? 'form' : 'json', job: '' });
  };
  // Another screen may pass a job in the address, such as an alternative that the playground suggests.
  useEffect(() => {
    if (job !== '') void pricing.act(async () => take(parseJobRequest(job)));
  }, []);
  const isPriced = priced?.body === body;
  const error = pricing.error ?? submitting.error;

  const estimatePrice = () =>
    pricing.act(async () => {
      submitting.clear();
      setPriced({ body, estimate: await api.jobs.estimate(parseJobRequest(body)) });
    });
  const submit = () =>
    submitting.act(async () => {
      const { id } = await api.jobs.submit(parseJobRequest(body));
      navigate(`${JOBS_PATH}/${id}`);
    });

  return html`<${Page}
    title="New job"
    lead="A dry run checks it and says what it costs. Nothing is made before you submit it."
    above=${{ title: 'Jobs', path: JOBS_PATH }}
  >
    <div class="job-form">
    <${Tabs}
      label="How it is described"
      choices=${[{ name: 'form', label: 'Form' }, { name: 'json', label: 'JSON' }]}
      current=${by}
      onChoose=${(by: string) => {
        if (by === 'json' && draft.json === '') change({ json: JSON.stringify(JSON.parse(body), null, 2) });
        setQuery({ by });
      }}
    />
    ${
      by === 'json'
        ? html`<${Field} label="Body of POST /api/v1/jobs" hint="Steps, presets, variants and templates too: see the page of the call.">
            <textarea
              class="code-input"
              rows="14"
              spellcheck=${false}
              value=${draft.json || EXAMPLE_REQUEST}
              onInput=${onText((json) => change({ json }))}
            ></textarea>
          <//>`
        : definition === undefined
          ? ops.error
            ? html`<${ErrorBox} error=${ops.error} onRetry=${ops.reload} />`
            : html`<${Placeholder} />`
          : html`<${JobForm}
              ops=${ops.data ?? []}
              definition=${definition}
              collections=${collections.data ?? []}
              draft=${draft}
              change=${change}
              chooseOp=${(next: string) => {
                change({ values: {} });
                setQuery({ op: next });
              }}
              error=${error}
            />`
    }
    <${ErrorBox} error=${error} onFix=${(fix: readonly Fix[]) => take(applyFix(parseJobRequest(body), fix))} />
    ${isPriced && html`<${Estimate} estimate=${priced.estimate} />`}
    <div class="form-foot">
      <${Button} kind=${isPriced ? 'plain' : 'primary'} isBusy=${pricing.isActing} onClick=${estimatePrice}>Dry run<//>
      <${Button} kind="primary" isDisabled=${!isPriced} isBusy=${submitting.isActing} onClick=${submit}>Submit<//>
      ${!isPriced && html`<span class="quiet">Submit after a dry run of exactly this.</span>`}
    </div>
    </div>
  <//>`;
}

interface JobFormProps {
  ops: readonly OpDefinition[];
  definition: OpDefinition;
  collections: readonly AssetCollection[];
  draft: JobDraft;
  change: (part: Partial<JobDraft>) => void;
  chooseOp: (op: string) => void;
  error: unknown;
}

function JobForm({ ops, definition, collections, draft, change, chooseOp, error }: JobFormProps) {
  const onTextOf = (name: 'prompt' | 'assetIds' | 'into') => onText((text) => change({ [name]: text }));
  return html`
    <div class="form">
      <${Field} label="Op" hint=${definition.description} error=${errorMessageAt(error, 'op')}>
        <${Select}
          value=${definition.op}
          choices=${ops.filter(({ kind }) => kind !== 'sync').map((one) => one.op)}
          onChange=${chooseOp}
        />
      <//>
      ${
        definition.requiresPrompt &&
        html`<${Field} label="Prompt" error=${errorMessageAt(error, 'prompt')}>
          <textarea rows="3" value=${draft.prompt} onInput=${onTextOf('prompt')}></textarea>
        <//>`
      }
      ${
        definition.requiresAssets &&
        html`
          <${Field} label="Assets of a collection" error=${errorMessageAt(error, 'from')}>
            <${Select}
              value=${draft.fromCollection}
              choices=${[
                { value: '', label: 'none: by their ids' },
                ...collections.map(({ name, assets }) => ({
                  value: name,
                  label: `${name} (${countText(assets)})`,
                })),
              ]}
              onChange=${(fromCollection: string) => change({ fromCollection })}
            />
          <//>
          ${
            draft.fromCollection === '' &&
            html`<${Field}
              label="Assets by their ids"
              hint="One per line. The screen of assets copies them."
              error=${errorMessageAt(error, 'assetIds')}
            >
              <textarea rows="3" spellcheck=${false} value=${draft.assetIds} onInput=${onTextOf('assetIds')}></textarea>
            <//>`
          }
        `
      }
      <${Field} label="Collection of the results" hint="It is made if it does not exist." error=${errorMessageAt(error, 'collection')}>
        <input value=${draft.into} onInput=${onTextOf('into')} autocomplete="off" />
      <//>
    </div>
    ${
      Object.keys(definition.params).length > 0 &&
      html`<${Section} title="Parameters">
        <${Form}
          parameters=${definition.params as Record<string, OpParameter>}
          values=${draft.values}
          onChange=${(values: FormValues) => change({ values })}
          error=${error}
        />
      <//>`
    }
  `;
}

function Estimate({ estimate }: { estimate: JobEstimate }) {
  const { totalItems, credits, balance, sufficientCredit, processCountLeft, overageRuns, overageCredits } =
    estimate;
  return html`<${Section} title="What it would cost">
    <${LabelledValues}
      of=${[
        ['Items', html`<${Count} value=${totalItems} />`],
        ['Credits', html`<${Count} value=${credits + overageCredits} />`],
        ['Balance', html`<${Count} value=${balance} />`],
        [
          'Runs left',
          processCountLeft < 0 ? 'without a limit' : html`<${Count} value=${processCountLeft} />`,
        ],
        ['Runs beyond the allowance', overageRuns > 0 ? html`<${Count} value=${overageRuns} />` : undefined],
        ['Sample', estimate.sandbox && 'the sandbox invents what it makes'],
      ]}
    />
    ${!sufficientCredit && html`<p class="warn-text">The balance is not enough: it would be refused.</p>`}
    ${estimate.warnings?.map((warning, index) => html`<p key=${index}><code>${JSON.stringify(warning)}</code></p>`)}
  <//>`;
}

/** The request of the job, from the fields that were filled in. */
function requestOfDraft(op: string, definition: OpDefinition | undefined, draft: JobDraft): JobRequest {
  const { prompt, assetIds, fromCollection, into, values } = draft;
  const ids = assetIds.split(/[\s,]+/).filter((id) => id !== '');
  const inputs = fromCollection === '' ? { assetIds: ids } : { from: { collection: fromCollection } };
  return {
    op,
    ...(definition?.requiresPrompt && prompt !== '' && { prompt }),
    ...(definition?.requiresAssets && inputs),
    ...(into !== '' && { collection: into }),
    ...(Object.keys(values).length > 0 && { parameters: { ...values } }),
  };
}

/**
 * The contents of the form for an existing request. If the form lacks a field for part of it, the request is shown as
 * JSON instead.
 */
function draftOfRequest(request: JobRequest): JobDraft {
  const {
    op,
    prompt = '',
    assetIds = [],
    from = {},
    collection: into = '',
    parameters: values = {},
    ...others
  } = request;
  const { collection: fromCollection = '', ...selection } = from;
  const hasForm = op !== undefined && Object.keys({ ...others, ...selection }).length === 0;
  const json = hasForm ? '' : JSON.stringify(request, null, 2);
  return { prompt, assetIds: assetIds.join('\n'), fromCollection, into, values, json };
}

/**
 * @throws Error if the text is not JSON.
 */
function parseJobRequest(body: string): JobRequest {
  try {
    return JSON.parse(body) as JobRequest;
  } catch (error) {
    throw new Error(`This is not JSON: ${(error as Error).message}.`);
  }
}
