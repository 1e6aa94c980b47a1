import type { Fix } from '../../../../client/errors.ts';
import type { OpDefinition, PresetData, TemplateSummary } from '../../../../client/schema.ts';
import { html, loadedLater, useEffect, useMemo, useRef, useState, type View } from '../html.ts';
import { Button, Field, Form, type FormValues } from '../parts/controls.ts';
import type { OtherCall } from '../parts/mending.ts';
import { useKey } from '../parts/overlays.ts';
import { Empty, ErrorBox, Page, Progress, Section, Unread } from '../parts/page.ts';
import { useReading } from '../parts/reading.ts';
import { Code } from '../parts/values.ts';
import type { RunOutcome } from '../playground/run.ts';
import { samplesFor } from '../playground/samples.ts';
import { loadSourcePicture, SourcePicker, type SourcePicture } from '../playground/source.ts';
import { OutputList, StepList } from '../playground/steps.ts';
import { fieldsOf, needsPicture, type PlaygroundWork, WORK_FIELDS, workIn, workOf } from '../playground/work.ts';
import { useQuery } from '../router.ts';
import { parametersOf } from '../saved/row.ts';
import { api } from '../session.ts';

/** Milliseconds that a change waits for the next change before the work is run. */
const CHANGING_MS = 500;
const MAX_UNDO = 50;
/** The fields of the address. `asset` is the id of an asset that another screen sends here. */
const FIELDS = { ...WORK_FIELDS, asset: '' };

const PresetDialog = loadedLater(async () => (await import('../playground/preset-dialog.ts')).PresetDialog);
const Price = loadedLater(async () => (await import('../playground/price.ts')).Price);
const ResultView = loadedLater(async () => (await import('../playground/result-view.ts')).ResultView);

interface Offer {
  definitions: ReadonlyMap<string, OpDefinition>;
  presets: readonly PresetData[];
  templates: readonly TemplateSummary[];
}

async function readOffer(signal: AbortSignal): Promise<Offer> {
  const [ops, presets, templates] = await Promise.all([
    api.request('GET', '/ops', { signal }),
    api.presets.list({}, { signal }),
    api.templates.list({}, { signal }).all(),
  ]);
  const definitions = new Map((ops as OpDefinition[]).map((definition) => [definition.op, definition]));
  return { definitions, presets, templates };
}

const NO_OFFER: Offer = { definitions: new Map(), presets: [], templates: [] };

/**
 * Tries ops, presets and templates on a picture of the reader, who can choose it while the offer is still being read.
 * The address holds what is done, so that it can be shared.
 */
export function Screen() {
  const { data: offer = NO_OFFER, error: notRead, reload } = useReading(readOffer, []);
  const isRead = offer !== NO_OFFER;
  const [fields, setFields] = useQuery(FIELDS);
  const { asset, ...work } = fields;
  const written = JSON.stringify(work);
  const current = useMemo(() => workIn(work), [written]);
  const definition = definitionOf(current, offer);
  const { source, setSource, error: sourceError } = useSource(asset);
  const [isLive, setIsLive] = useState(true);
  const [isSaving, setIsSaving] = useState(false);
  const undo = useUndo(current, (next) => setFields(fieldsOf(next)));
  const { outcome, error, progress, isRunning, start } = useRun(current, source?.blob, definition);

  const isReady = isRead && (source !== undefined || !needsPicture(current, definition));
  const isCheap = definition?.kind !== 'ai';
  useEffect(() => {
    if (!isReady || !isLive || !isCheap) return;
    const timer = setTimeout(start, CHANGING_MS);
    return () => clearTimeout(timer);
  }, [written, source, isLive, isReady, isCheap]);
  const applying = () => import('../playground/applying.ts');
  const fix = async (changes: readonly Fix[]) =>
    undo.change((await applying()).fixed(current, changes, definition, offer));
  const takeInstead = async (instead: OtherCall) =>
    undo.change((await applying()).replaced(current, instead, offer));
  useKey('r', 'Run', () => isReady && start());
  useKey('u', 'Undo the last change', undo.undo);

  const actions = html`
    <${Button} isDisabled=${!undo.canUndo} onClick=${undo.undo}>Undo<//>
    ${
      current.kind === 'steps' &&
      current.outputs.length === 0 &&
      html`<${Button} onClick=${() => setIsSaving(true)}>Save as a preset<//>`
    }
    <${Button} kind="primary" isBusy=${isRunning} isDisabled=${!isReady} onClick=${start}>Run<//>
  `;
  return html`<${Page} title="Playground" lead="Try what a call does, and copy it." actions=${actions}>
    <div class="bench">
      <div class="bench-work">
        ${needsPicture(current, definition) && html`<${SourcePicker} source=${source} onPick=${setSource} />`}
        <${ErrorBox} error=${sourceError} />
        ${
          isRead
            ? html`<${WorkPicker} work=${current} offer=${offer} onPick=${undo.change} />
                <${WorkForm} work=${current} offer=${offer} error=${error} onChange=${undo.change} />`
            : html`<${Unread} error=${notRead} reload=${reload} />`
        }
        <label class="check quiet">
          <input
            type="checkbox"
            checked=${isLive}
            disabled=${!isCheap}
            onChange=${(event: Event) => setIsLive((event.target as HTMLInputElement).checked)}
          />
          <span>${isCheap ? 'Run at each change. Every result counts as a run.' : 'A model runs only when you press Run: it may cost credits.'}</span>
        </label>
      </div>
      <div class="bench-result">
        <${ErrorBox} error=${error} onFix=${fix} onInstead=${takeInstead} />
        ${isRunning && html`<${Progress} label=${progress} />`}
        ${
          outcome === undefined
            ? html`<${Empty}
                title=${isReady ? 'Press Run' : 'The result is shown here'}
                text=${isReady ? html`Or press r. Price: <${Price} work=${current} definition=${definition} />` : 'Drop a picture, paste one, or use the example.'}
              />`
            : html`<${ResultView} outcome=${outcome} source=${source} definition=${definition} work=${current} />`
        }
        ${
          isRead &&
          html`<${Section} title="The same call">
            <${Code} samples=${samplesFor(current, definition)} label="Language of the call" />
          <//>`
        }
      </div>
    </div>
    ${isSaving && current.kind === 'steps' && html`<${PresetDialog} steps=${current.steps} definitions=${offer.definitions} onClose=${() => setIsSaving(false)} />`}
  <//>`;
}

/** The definition of the op that determines how the work is called. */
function definitionOf(work: PlaygroundWork, { definitions }: Offer): OpDefinition | undefined {
  if (work.kind === 'template') return definitions.get('render_template');
  if (work.kind === 'op') return definitions.get(work.op);
  return work.kind === 'steps' ? definitions.get(work.steps[0]?.op ?? '') : undefined;
}

/** The source picture: the reader's, or an asset that the address names. */
function useSource(assetId: string) {
  const [source, setSource] = useState<SourcePicture>();
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    if (assetId === '') return;
    const end = new AbortController();
    const read = async () => {
      const content = await api.assets.download(assetId, { signal: end.signal });
      setSource(await loadSourcePicture(await content.blob(), assetId));
    };
    read().catch((failure) => end.signal.aborted || setError(failure));
    return () => end.abort();
  }, [assetId]);
  return { source, setSource, error };
}

/** Runs the work, one run at a time. A newer run ends the one before. */
function useRun(work: PlaygroundWork, blob: Blob | undefined, definition: OpDefinition | undefined) {
  const [state, setState] = useState<{
    outcome?: RunOutcome;
    error?: unknown;
    progress: string;
    isRunning: boolean;
  }>({ progress: '', isRunning: false });
  const running = useRef<AbortController | null>(null);
  useEffect(() => () => running.current?.abort(), []);
  const start = async () => {
    running.current?.abort();
    const own = new AbortController();
    running.current = own;
    const { signal } = own;
    setState((last) => ({ ...last, isRunning: true, progress: 'The picture is being made' }));
    const onProgress = (progress: string) => signal.aborted || setState((last) => ({ ...last, progress }));
    try {
      const { run } = await import('../playground/run.ts');
      const outcome = await run(work, blob, definition, { signal, onProgress });
      if (!signal.aborted) setState({ outcome, progress: '', isRunning: false });
    } catch (error) {
      // The last result stays visible beside the error.
      if (!signal.aborted) setState((last) => ({ ...last, error, isRunning: false }));
    }
  };
  return { ...state, start };
}

/** Records changes, so that they can be undone. */
function useUndo(work: PlaygroundWork, set: (work: PlaygroundWork) => void) {
  const [past, setPast] = useState<readonly PlaygroundWork[]>([]);
  return {
    canUndo: past.length > 0,
    change(next: PlaygroundWork) {
      setPast([...past, work].slice(-MAX_UNDO));
      set(next);
    },
    undo() {
      const last = past.at(-1);
      if (last === undefined) return;
      setPast(past.slice(0, -1));
      set(last);
    },
  };
}

/** Choices of the picker under one title. */
type ChoiceGroup = readonly [title: string, options: readonly (readonly [value: string, label: string])[]];

interface WorkPickerProps {
  work: PlaygroundWork;
  offer: Offer;
  onPick: (work: PlaygroundWork) => void;
}

/** A picker of the work: an op, a preset or a template. */
function WorkPicker({ work, offer, onPick }: WorkPickerProps) {
  const { definitions, presets, templates } = offer;
  const ops = [...definitions.values()].filter(({ op }) => op !== 'render_template');
  const groups: readonly ChoiceGroup[] = [
    [
      'Ops on a picture',
      optionsOf(ops.filter(({ kind, produces }) => kind !== 'ai' && produces === 'image')),
    ],
    ['Models', optionsOf(ops.filter(({ kind }) => kind === 'ai'))],
    ['Reading', optionsOf(ops.filter(({ kind, produces }) => kind !== 'ai' && produces === 'json'))],
    ['Presets', presets.map(({ slug, name }) => [`preset:${slug}`, name] as const)],
    ['Templates', templates.map(({ id, name }) => [`template:${id}`, name] as const)],
  ];
  const pick = (event: Event) => {
    const [, kind, name = ''] = /^(\w+):(.*)$/.exec((event.target as HTMLSelectElement).value) ?? [];
    const definition = definitions.get(name);
    if (kind === 'preset') onPick({ kind: 'preset', slug: name });
    else if (kind === 'template') onPick({ kind: 'template', id: name, data: {} });
    else if (definition !== undefined) onPick(workOf(definition));
  };
  return html`<${Field} label="What to do">
    <select value=${nameOf(work)} onChange=${pick} data-search="">
      ${groups.map(
        ([title, options]) => html`<optgroup key=${title} label=${title}>
          ${options.map(([value, label]) => html`<option key=${value} value=${value}>${label}</option>`)}
        </optgroup>`,
      )}
    </select>
  <//>`;
}

function optionsOf(definitions: readonly OpDefinition[]) {
  return definitions.map(({ op }) => [`op:${op}`, op] as const);
}

/** The work as an option of the picker. Several steps or results are named by the first. */
function nameOf(work: PlaygroundWork): string {
  if (work.kind === 'preset') return `preset:${work.slug}`;
  if (work.kind === 'template') return `template:${work.id}`;
  return `op:${work.kind === 'op' ? work.op : ((work.steps[0] ?? work.outputs[0])?.op ?? '')}`;
}

interface WorkFormProps {
  work: PlaygroundWork;
  offer: Offer;
  error: unknown;
  onChange: (work: PlaygroundWork) => void;
}

/** What the work takes, as a form. */
function WorkForm({ work, offer, error, onChange }: WorkFormProps): View {
  const { definitions } = offer;
  switch (work.kind) {
    case 'preset': {
      const preset = offer.presets.find(({ slug }) => slug === work.slug);
      return html`<p class="quiet">${preset?.description}</p>
        <p><a href=${`/console/presets/${work.slug}`}>See its steps</a></p>`;
    }
    case 'template':
      return html`<${RowForm} work=${work} offer=${offer} onChange=${onChange} />`;
    case 'op': {
      const definition = definitions.get(work.op);
      const { assetIds: _, ...parameters } = definition?.syncParams ?? definition?.params ?? {};
      return html`<p class="quiet">${definition?.description}</p>
        <${Form}
          key=${work.op}
          parameters=${parameters}
          values=${work.values}
          onChange=${(values: FormValues) => onChange({ ...work, values })}
          error=${error}
        />`;
    }
    case 'steps': {
      const isSeveral = work.outputs.length > 0;
      const toggle = () => onChange(isSeveral ? asOne(work) : asSeveral(work));
      return html`
        <${StepList}
          steps=${work.steps}
          definitions=${definitions}
          mayBeEmpty=${isSeveral}
          error=${error}
          onChange=${(steps: typeof work.steps) => onChange({ ...work, steps })}
        />
        <label class="check quiet">
          <input type="checkbox" checked=${isSeveral} onChange=${toggle} />
          <span>Make several results of it, with one upload and one decoding</span>
        </label>
        ${
          isSeveral &&
          html`<${OutputList}
          outputs=${work.outputs}
          definitions=${definitions}
          error=${error}
          onChange=${(outputs: typeof work.outputs) => onChange({ ...work, outputs })}
        />`
        }
      `;
    }
  }
}

type Steps = Extract<PlaygroundWork, { kind: 'steps' }>;

/** Two results instead of one. A step that scales would limit both results, so it moves into them. */
function asSeveral(work: Steps): Steps {
  const [only] = work.steps;
  return {
    ...work,
    steps: work.steps.length === 1 && only?.op === 'resize' ? [] : work.steps,
    outputs: [
      { name: 'small', op: 'resize', parameters: { width: 320, format: 'webp' } },
      { name: 'large', op: 'resize', parameters: { width: 960, format: 'webp' } },
    ],
  };
}

/** The steps without results. If there are none, the step of the first result. */
function asOne({ steps, outputs, ...work }: Steps): Steps {
  const first = outputs.slice(0, 1).map(({ op, parameters }) => ({ op, parameters }));
  return { ...work, steps: steps.length > 0 ? steps : first, outputs: [] };
}

/** The variables of a template as a form. */
function RowForm({
  work,
  offer,
  onChange,
}: {
  work: Extract<PlaygroundWork, { kind: 'template' }>;
  offer: Offer;
  onChange: (work: PlaygroundWork) => void;
}) {
  const template = offer.templates.find(({ id }) => id === work.id);
  const parameters = parametersOf(template?.variables ?? []);
  return html`<p class="quiet">${template?.description}</p>
    <${Form}
      key=${work.id}
      parameters=${parameters}
      values=${work.data}
      onChange=${(data: FormValues) => onChange({ ...work, data })}
    />
    <p><a href=${`/console/templates/${work.id}`}>Edit this template</a></p>`;
}
