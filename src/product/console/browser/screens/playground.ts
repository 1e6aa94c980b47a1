import { listNamedCall, readNamedCall } from '../../../../client/calls.ts';
import type { Fix } from '../../../../client/errors.ts';
import type { OpDefinition } from '../../../../client/schema.ts';
import { html, useEffect, useMemo, useRef, useState } from '../html.ts';
import { Button } from '../parts/controls.ts';
import type { AlternativeCall } from '../parts/correcting.ts';
import { useKey } from '../parts/overlays.ts';
import { Empty, ErrorBox, lazyComponent, NotLoaded, Page, Progress, Section } from '../parts/page.ts';
import { useLoad } from '../parts/reading.ts';
import { Code } from '../parts/values.ts';
import type { RunOutcome } from '../playground/run.ts';
import { loadSourcePicture, SourcePicker, type SourcePicture } from '../playground/source.ts';
import {
  EMPTY_WORK_QUERY,
  needsPicture,
  type PlaygroundWork,
  parseWork,
  workFieldsOf,
} from '../playground/work.ts';
import type { Offer } from '../playground/work-form.ts';
import { useQuery } from '../router.ts';
import { transport } from '../session.ts';

const RUN_DEBOUNCE_MS = 500;
const MAX_UNDO_STEPS = 50;
/** The query fields of the address. Another screen sets `asset` to open an asset in the playground. */
const ADDRESS_FIELDS = { ...EMPTY_WORK_QUERY, asset: '' };

const PresetDialog = lazyComponent(async () => (await import('../playground/preset-dialog.ts')).PresetDialog);
const Price = lazyComponent(async () => (await import('../playground/price.ts')).Price);
const ResultView = lazyComponent(async () => (await import('../playground/result-view.ts')).ResultView);

/** Loads the ops, presets and templates, and the modules that draw them. */
async function readOffer(signal: AbortSignal) {
  const [ops, presets, templates] = await Promise.all([
    readNamedCall(transport, 'GET /ops', {}, { signal }),
    readNamedCall(transport, 'GET /presets', {}, { signal }),
    listNamedCall(transport, 'GET /templates', {}, { signal }).all(),
  ]);
  // The modules are imported after the data has arrived. If they were imported earlier, they would delay the first
  // drawing.
  const [{ WorkForm, WorkPicker }, { samplesFor }] = await Promise.all([
    import('../playground/work-form.ts'),
    import('../playground/samples.ts'),
  ]);
  const definitions = new Map((ops as OpDefinition[]).map((definition) => [definition.op, definition]));
  return { offer: { definitions, presets, templates }, WorkForm, WorkPicker, samplesFor };
}

const NO_OFFER: Offer = { definitions: new Map(), presets: [], templates: [] };

/**
 * The screen that tries ops, presets and templates on a picture. The user can choose the picture while the ops are
 * still being loaded. The address contains the work, so that it can be shared.
 */
export default function PlaygroundScreen() {
  const { data: read, error: notRead, reload } = useLoad(readOffer, []);
  const { offer } = read ?? { offer: NO_OFFER };
  const [fields, setFields] = useQuery(ADDRESS_FIELDS);
  const { asset, ...work } = fields;
  const written = JSON.stringify(work);
  const current = useMemo(() => parseWork(work), [written]);
  const definition = definitionOf(current, offer);
  const { source, setSource, error: sourceError } = useSource(asset);
  const [isLive, setIsLive] = useState(true);
  const [isSaving, setIsSaving] = useState(false);
  const undo = useUndo(current, (next) => setFields(workFieldsOf(next)));
  const { outcome, error, progress, isRunning, start } = useRun(current, source?.blob, definition);

  const isReady = read !== undefined && (source !== undefined || !needsPicture(current, definition));
  const isCheap = definition?.kind !== 'ai';
  useEffect(() => {
    if (!isReady || !isLive || !isCheap) return;
    const timer = setTimeout(start, RUN_DEBOUNCE_MS);
    return () => clearTimeout(timer);
  }, [written, source, isLive, isReady, isCheap]);
  const loadApplying = () => import('../playground/applying.ts');
  const fix = async (changes: readonly Fix[]) =>
    undo.change((await loadApplying()).applyFixToWork(current, changes, definition, offer));
  const takeInstead = async (instead: AlternativeCall) =>
    undo.change((await loadApplying()).applyAlternative(current, instead, offer));
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
          read === undefined
            ? html`<${NotLoaded} error=${notRead} reload=${reload} />`
            : html`<${read.WorkPicker} work=${current} offer=${offer} onPick=${undo.change} />
                <${read.WorkForm} work=${current} offer=${offer} error=${error} onChange=${undo.change} />`
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
          read &&
          html`<${Section} title="The same call">
            <${Code} samples=${read.samplesFor(current, definition)} label="Language of the call" />
          <//>`
        }
      </div>
    </div>
    ${isSaving && current.kind === 'steps' && html`<${PresetDialog} steps=${current.steps} definitions=${offer.definitions} onClose=${() => setIsSaving(false)} />`}
  <//>`;
}

/**
 * The op that determines how the work is sent: render_template for a template, otherwise the only op or the op of the
 * first step.
 */
function definitionOf(work: PlaygroundWork, { definitions }: Offer): OpDefinition | undefined {
  if (work.kind === 'template') return definitions.get('render_template');
  if (work.kind === 'op') return definitions.get(work.op);
  return work.kind === 'steps' ? definitions.get(work.steps[0]?.op ?? '') : undefined;
}

/** The source picture: a file of the user, or the asset in the address. */
function useSource(assetId: string) {
  const [source, setSource] = useState<SourcePicture>();
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    if (assetId === '') return;
    const abortController = new AbortController();
    const read = async () => {
      const { api } = await import('../api.ts');
      const content = await api.assets.download(assetId, { signal: abortController.signal });
      setSource(await loadSourcePicture(await content.blob(), assetId));
    };
    read().catch((failure) => abortController.signal.aborted || setError(failure));
    return () => abortController.abort();
  }, [assetId]);
  return { source, setSource, error };
}

/** Runs the work. A new run aborts the previous one. */
function useRun(work: PlaygroundWork, blob: Blob | undefined, definition: OpDefinition | undefined) {
  const [state, setState] = useState<{
    outcome?: RunOutcome;
    error?: unknown;
    progress: string;
    isRunning: boolean;
  }>({ progress: '', isRunning: false });
  const currentRunController = useRef<AbortController | null>(null);
  useEffect(() => () => currentRunController.current?.abort(), []);
  const start = async () => {
    currentRunController.current?.abort();
    const runController = new AbortController();
    currentRunController.current = runController;
    const { signal } = runController;
    setState((last) => ({ ...last, isRunning: true, progress: 'The picture is being made' }));
    const onProgress = (progress: string) => signal.aborted || setState((last) => ({ ...last, progress }));
    try {
      const { runWork: run } = await import('../playground/run.ts');
      const outcome = await run(work, blob, definition, { signal, onProgress });
      if (!signal.aborted) setState({ outcome, progress: '', isRunning: false });
    } catch (error) {
      // The last result stays visible beside the error.
      if (!signal.aborted) setState((last) => ({ ...last, error, isRunning: false }));
    }
  };
  return { ...state, start };
}

/** Keeps the previous versions of the work, so that changes can be undone. */
function useUndo(work: PlaygroundWork, set: (work: PlaygroundWork) => void) {
  const [past, setPast] = useState<readonly PlaygroundWork[]>([]);
  return {
    canUndo: past.length > 0,
    change(next: PlaygroundWork) {
      setPast([...past, work].slice(-MAX_UNDO_STEPS));
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
