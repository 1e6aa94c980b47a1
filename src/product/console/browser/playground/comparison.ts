import { html, useRef, useState, type View } from '../html.ts';
import { Button } from '../parts/button.ts';
import { takesText } from '../parts/handlers.ts';
import { useObjectUrl } from '../parts/object-url.ts';
import { Tabs } from '../parts/tabs.ts';
import type { ResultPicture } from './run.ts';

interface ComparisonProps {
  before?: { blob: Blob; width: number; height: number } | undefined;
  after: ResultPicture;
  /** Facts that are shown with the picture, even on a small screen. */
  facts: View;
}

const ZOOMS = [1, 2, 4, 8];
const LOUPE_PX = 180;
const LOUPE_ZOOM = 4;
/** Pictures whose aspect ratios differ more cannot be compared on top of each other. */
const MAX_ASPECT_DIFFERENCE = 0.02;

/** A result next to its original: on top of each other with a slider, side by side, or alone. */
export function Comparison({ before, after, facts }: ComparisonProps) {
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
  const index = ZOOMS.indexOf(zoom);
  return html`<div class="comparison">
    <div class="comparison-head">
      ${choices.length > 1 && html`<${Tabs} label="How to compare" choices=${choices} current=${shown} onChoose=${setWay} />`}
      <div class="actions">
        <${Button} kind="icon" label="Zoom out" isDisabled=${index === 0} onClick=${() => setZoom(ZOOMS[index - 1] ?? 1)}>−<//>
        <span class="figure">${zoom * 100} %</span>
        <${Button} kind="icon" label="Zoom in" isDisabled=${index === ZOOMS.length - 1} onClick=${() => setZoom(ZOOMS[index + 1] ?? 1)}>+<//>
      </div>
    </div>
    <div class=${`stage ${shown}`}>
      ${shown === 'beside' && html`<${Pane} label="Before" url=${beforeUrl} zoom=${zoom} />`}
      <${Pane}
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
        onInput=${takesText((text) => setShare(Number(text)))}
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
  /** The picture that is shown to the left of `share`. */
  under?: string | undefined;
  /** In percent of the width. */
  share?: number;
  zoom: number;
}

/** One picture, or two on top of each other. A loupe appears while the pointer is held down. */
function Pane({ label, url, under, share = 0, zoom }: PaneProps) {
  const [at, setAt] = useState<{ x: number; y: number; width: number; height: number } | null>(null);
  const image = useRef<HTMLImageElement>(null);
  const look = (event: PointerEvent) => {
    if (event.buttons !== 1 || image.current === null) return setAt(null);
    const { left, top, width, height } = image.current.getBoundingClientRect();
    setAt({ x: event.clientX - left, y: event.clientY - top, width, height });
  };
  const leave = () => setAt(null);
  return html`<div class="pane" tabindex=${zoom > 1 ? 0 : undefined} role="group" aria-label=${label}>
    <div
      class="pane-content"
      style=${{ width: `${zoom * 100}%`, height: `${zoom * 100}%` }}
      onPointerDown=${look}
      onPointerMove=${look}
      onPointerUp=${leave}
      onPointerLeave=${leave}
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
function Loupe({
  at,
  url,
}: {
  at: { x: number; y: number; width: number; height: number };
  url: string | undefined;
}) {
  return html`<div
    class="loupe"
    aria-hidden="true"
    style=${{
      left: `${at.x - LOUPE_PX / 2}px`,
      top: `${at.y - LOUPE_PX / 2}px`,
      width: `${LOUPE_PX}px`,
      height: `${LOUPE_PX}px`,
      backgroundImage: `url("${url}")`,
      backgroundSize: `${at.width * LOUPE_ZOOM}px ${at.height * LOUPE_ZOOM}px`,
      backgroundPosition: `${LOUPE_PX / 2 - at.x * LOUPE_ZOOM}px ${LOUPE_PX / 2 - at.y * LOUPE_ZOOM}px`,
    }}
  ></div>`;
}

function aspectOf({ width, height }: { width: number; height: number }): number {
  return width / Math.max(1, height);
}
