import type { Difference, OpDefinition } from '../../../../client/schema.ts';
import { api } from '../api.ts';
import { html, useRef, useState, type View } from '../html.ts';
import { Button, onText, Tabs } from '../parts/controls.ts';
import { ErrorBox, type LabelledValue, LabelledValues } from '../parts/page.ts';
import { useObjectUrl } from '../parts/pictures.ts';
import { useAction } from '../parts/reading.ts';
import { bytesText, Code, Copy, Id, msText, TimingBar } from '../parts/values.ts';
import { Price } from './price.ts';
import type { ResultPicture, RunOutcome } from './run.ts';
import type { SourcePicture } from './source.ts';
import { needsPicture, type PlaygroundWork } from './work.ts';

interface ResultViewProps {
  outcome: RunOutcome;
  source: SourcePicture | undefined;
  definition: OpDefinition | undefined;
  work: PlaygroundWork;
}

/** Shows the results of the last run, with what is known about each. */
export function ResultView({ outcome, source, definition, work }: ResultViewProps) {
  const [chosen, setChosen] = useState('');
  const { pictures, failures, json, isSample, jobId, tookMs } = outcome;
  const picture = pictures.find(({ name }) => name === chosen) ?? pictures[0];
  const before = needsPicture(work, definition) ? source : undefined;
  const ofRun: readonly LabelledValue[] = [
    ['From call to result', msText(tookMs)],
    ['Price', html`<${Price} work=${work} definition=${definition} />`],
    ['Job', jobId && html`<${Id} id=${jobId} to=${`/console/jobs/${jobId}`} />`],
  ];
  return html`
    ${isSample && html`<p class="sample"><strong>Sample.</strong> A model of the sandbox made this: it is invented, and shows the way of a call alone.</p>`}
    ${failures.map(({ name, error }) => html`<p key=${name}><strong>${name}</strong></p><${ErrorBox} error=${error} />`)}
    ${
      pictures.length > 1 &&
      html`<${Tabs}
      label="Results"
      choices=${pictures.map(({ name, blob }) => ({ name, label: html`${name} <span class="quiet">${bytesText(blob.size)}</span>` }))}
      current=${picture?.name ?? ''}
      onChoose=${setChosen}
    />`
    }
    ${
      picture === undefined
        ? html`<${LabelledValues} of=${ofRun} />`
        : html`<${PictureView} key=${picture.name} picture=${picture} before=${before} ofRun=${ofRun} />`
    }
    ${json !== undefined && html`<${Code} samples=${[{ label: 'Answer', code: JSON.stringify(json, null, 2) }]} />`}
  `;
}

interface PictureViewProps {
  picture: ResultPicture;
  before: SourcePicture | undefined;
  /** What is known about the run as a whole: its duration, its price and its job. */
  ofRun: readonly LabelledValue[];
}

function PictureView({ picture, before, ofRun }: PictureViewProps) {
  const { blob, width, height, format, warnings, timing, achieved, requestId, name } = picture;
  const url = useObjectUrl(blob);
  const growth =
    before === undefined || before.blob.size === 0 ? undefined : blob.size / before.blob.size - 1;
  const change =
    growth !== undefined &&
    html`<span class=${`change ${growth > 0 ? 'bad' : 'good'}`}>${growth > 0 ? '+' : '−'}${Math.abs(growth * 100).toFixed(1)} %</span>`;
  const sizeView = () => html`<span class="figure">${bytesText(blob.size)}</span> ${change}`;
  const dimensionsText = `${width} × ${height} px`;
  return html`
    <${PictureComparison}
      before=${before !== undefined && before.width > 0 ? before : undefined}
      after=${picture}
      facts=${html`${sizeView()}, ${dimensionsText}`}
    />
    <${LabelledValues}
      of=${[
        ['Bytes', sizeView()],
        ['Size', dimensionsText],
        ['Format', format],
        ...ofRun,
        ...Object.entries(achieved).map(
          ([what, value]) => [ACHIEVED_LABELS[what] ?? what, String(value)] as const,
        ),
        ['Likeness', html`<${SimilarityScore} before=${before} after=${picture} />`],
        [
          'Warnings',
          warnings.length > 0 &&
            html`<ul class="warnings">${warnings.map((warning) => html`<li key=${warning.code}>${warningView(warning)}</li>`)}</ul>`,
        ],
        ['Request', html`<${Copy} text=${requestId} />`],
        [
          'Save',
          html`<a href=${url} download=${`${name}.${format === 'jpeg' ? 'jpg' : format}`}>Download</a>`,
        ],
      ]}
    />
    ${Object.keys(timing).length > 0 && html`<${TimingBar} timing=${timing} />`}
  `;
}

/** The labels of the values that `compress` reached in its search for a target. */
const ACHIEVED_LABELS: Readonly<Record<string, string>> = {
  quality: 'Quality',
  ssim: 'SSIM',
  ssimulacra2: 'SSIMULACRA 2',
  trials: 'Trials',
};

function warningView({ code, name }: ResultPicture['warnings'][number]): View {
  return html`<code>${code}</code>${name !== undefined && ` ${name}`}`;
}

/**
 * The shortest edge of a picture for which a SSIMULACRA 2 score is computed. Smaller pictures are compared by their
 * brightness only.
 */
const MIN_SCORED_EDGE_PX = 8;
const MAX_SCORED_PIXELS = 4_000_000;

/**
 * How similar the result is to the original. It is measured only when the user requests it, because the measurement
 * counts as a run.
 */
function SimilarityScore({ before, after }: { before: SourcePicture | undefined; after: ResultPicture }) {
  const [found, setFound] = useState<Difference>();
  const { act, isActing, error } = useAction();
  if (before === undefined) return html`<span class="quiet">–</span>`;
  if (before.width !== after.width || before.height !== after.height)
    return html`<span class="quiet">only of pictures of one size</span>`;
  if (found !== undefined) {
    const { ssim, ssimulacra2, changedShare } = found;
    const score = ssimulacra2 === undefined ? '' : `SSIMULACRA 2 ${ssimulacra2.toFixed(1)}, `;
    return `${score}SSIM ${ssim.toFixed(4)}, ${(changedShare * 100).toFixed(1)} % of the pixels changed`;
  }
  const pixels = after.width * after.height;
  const ssimulacra2 =
    Math.min(after.width, after.height) >= MIN_SCORED_EDGE_PX && pixels <= MAX_SCORED_PIXELS;
  const measure = () =>
    act(async () => setFound(await api.images.compare(before.blob, after.blob, { ssimulacra2 })));
  return html`<${Button} kind="link" isBusy=${isActing} onClick=${measure}>Measure<//> <${ErrorBox} error=${error} />`;
}

interface PictureComparisonProps {
  before?: { blob: Blob; width: number; height: number } | undefined;
  after: ResultPicture;
  /** Facts that are shown beside the picture even on small screens. */
  facts: View;
}

const ZOOM_FACTORS = [1, 2, 4, 8];
const LOUPE_SIZE_PX = 180;
const LOUPE_ZOOM = 4;
/** Pictures whose aspect ratios differ by more than this cannot be compared on top of each other. */
const MAX_ASPECT_DIFFERENCE = 0.02;

/** A result next to its original: on top of each other with a slider, side by side, or alone. */
function PictureComparison({ before, after, facts }: PictureComparisonProps) {
  const [way, setWay] = useState('slider');
  const [share, setShare] = useState(50);
  const [zoom, setZoom] = useState(1);
  const beforeUrl = useObjectUrl(before?.blob);
  const afterUrl = useObjectUrl(after.blob);
  const canLie =
    before !== undefined && Math.abs(aspectOf(before) / aspectOf(after) - 1) < MAX_ASPECT_DIFFERENCE;
  const shown = before === undefined ? 'after' : way === 'slider' && !canLie ? 'beside' : way;
  const choices = [
    ...(canLie ? [{ name: 'slider', label: 'Slider' }] : []),
    ...(before === undefined ? [] : [{ name: 'beside', label: 'Side by side' }]),
    { name: 'after', label: 'Result' },
  ];
  const index = ZOOM_FACTORS.indexOf(zoom);
  return html`<div class="comparison">
    <div class="comparison-head">
      ${choices.length > 1 && html`<${Tabs} label="How to compare" choices=${choices} current=${shown} onChoose=${setWay} />`}
      <div class="actions">
        <${Button} kind="icon" label="Zoom out" isDisabled=${index === 0} onClick=${() => setZoom(ZOOM_FACTORS[index - 1] ?? 1)}>−<//>
        <span class="figure">${zoom * 100} %</span>
        <${Button} kind="icon" label="Zoom in" isDisabled=${index === ZOOM_FACTORS.length - 1} onClick=${() => setZoom(ZOOM_FACTORS[index + 1] ?? 1)}>+<//>
      </div>
    </div>
    <div class=${`stage ${shown}`}>
      ${shown === 'beside' && html`<${PicturePane} label="Before" url=${beforeUrl} zoom=${zoom} />`}
      <${PicturePane}
        label="After"
        url=${afterUrl}
        under=${shown === 'slider' ? beforeUrl : undefined}
        share=${share}
        zoom=${zoom}
      />
      ${
        shown === 'slider' &&
        html`<input
        type="range"
        class="share"
        aria-label="Share of the original"
        min="0"
        max="100"
        value=${share}
        onInput=${onText((text) => setShare(Number(text)))}
      />`
      }
    </div>
    <p class="stage-facts">${facts}</p>
    <p class="quiet stage-hint">Hold the pointer down on the picture for the loupe${shown === 'slider' ? '; the slider moves with the arrows' : ''}.</p>
  </div>`;
}

interface PaneProps {
  label: string;
  url: string | undefined;
  /** The picture that is shown to the left of the divider, at the same position as the other picture. */
  under?: string | undefined;
  /** The position of the divider, in percent of the width. */
  share?: number;
  zoom: number;
}

/** The position of the pointer in a picture, and the size of the picture as the page shows it. */
interface PointInPicture {
  x: number;
  y: number;
  width: number;
  height: number;
}

/**
 * One picture, or two on top of each other with a divider between them. A loupe appears while the pointer is held down.
 */
function PicturePane({ label, url, under, share = 0, zoom }: PaneProps) {
  const [at, setAt] = useState<PointInPicture | null>(null);
  const image = useRef<HTMLImageElement>(null);
  const moveLoupe = (event: PointerEvent) => {
    if (event.buttons !== 1 || image.current === null) return setAt(null);
    const { left, top, width, height } = image.current.getBoundingClientRect();
    setAt({ x: event.clientX - left, y: event.clientY - top, width, height });
  };
  const hideLoupe = () => setAt(null);
  return html`<div class="pane" tabindex=${zoom > 1 ? 0 : undefined} role="group" aria-label=${label}>
    <div
      class="pane-content"
      style=${{ width: `${zoom * 100}%`, height: `${zoom * 100}%` }}
      onPointerDown=${moveLoupe}
      onPointerMove=${moveLoupe}
      onPointerUp=${hideLoupe}
      onPointerLeave=${hideLoupe}
    >
      ${under !== undefined && html`<img src=${under} alt="Before" draggable=${false} />`}
      <img
        ref=${image}
        src=${url}
        alt=${label}
        draggable=${false}
        style=${under === undefined ? {} : { clipPath: `inset(0 0 0 ${share}%)` }}
      />
      ${under !== undefined && html`<i class="divider" style=${{ left: `${share}%` }}></i>`}
    </div>
    ${at !== null && html`<${Loupe} at=${at} url=${at.x < (at.width * share) / 100 ? under : url} />`}
  </div>`;
}

/** A circle that enlarges the pixels under the pointer without smoothing. */
function Loupe({ at, url }: { at: PointInPicture; url: string | undefined }) {
  return html`<div
    class="loupe"
    aria-hidden="true"
    style=${{
      left: `${at.x - LOUPE_SIZE_PX / 2}px`,
      top: `${at.y - LOUPE_SIZE_PX / 2}px`,
      width: `${LOUPE_SIZE_PX}px`,
      height: `${LOUPE_SIZE_PX}px`,
      backgroundImage: `url("${url}")`,
      backgroundSize: `${at.width * LOUPE_ZOOM}px ${at.height * LOUPE_ZOOM}px`,
      backgroundPosition: `${LOUPE_SIZE_PX / 2 - at.x * LOUPE_ZOOM}px ${LOUPE_SIZE_PX / 2 - at.y * LOUPE_ZOOM}px`,
    }}
  ></div>`;
}

function aspectOf({ width, height }: { width: number; height: number }): number {
  return width / Math.max(1, height);
}
