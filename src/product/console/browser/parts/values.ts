import { lazy } from '../../../../platform/http/lazy.ts';
import { html, useState, type View } from '../html.ts';
import { Tabs } from './controls.ts';

const COPIED_LABEL_MS = 1_500;
const SAME_YEAR_FORMAT: Intl.DateTimeFormatOptions = {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
};
// Creating a formatter takes milliseconds, so each one is created only when it is first used.
const sameYearFormatter = lazy(() => new Intl.DateTimeFormat(undefined, SAME_YEAR_FORMAT));
const anyYearFormatter = lazy(
  () => new Intl.DateTimeFormat(undefined, { ...SAME_YEAR_FORMAT, year: 'numeric' }),
);
const countFormatter = lazy(() => new Intl.NumberFormat(undefined));
const ageFormatter = lazy(() => new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' }));
const BYTE_UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];
const AGE_UNITS: readonly [unit: Intl.RelativeTimeFormatUnit, ms: number][] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
];

/** Formats an instant in the time zone of the user. */
export function timeText(at: string | number | Date): string {
  const date = new Date(at);
  const format = date.getFullYear() === new Date().getFullYear() ? sameYearFormatter : anyYearFormatter;
  return format().format(date);
}

/** Formats the age of an instant, such as `3 minutes ago`. */
export function relativeTimeText(at: string | number | Date, now = Date.now()): string {
  const ms = new Date(at).getTime() - now;
  const [unit, size] = AGE_UNITS.find(([, size]) => Math.abs(ms) >= size) ?? ['second', 1_000];
  return ageFormatter().format(Math.round(ms / size), unit);
}

export function countText(value: number): string {
  return countFormatter().format(value);
}

export function bytesText(value: number): string {
  const power = value < 1_000 ? 0 : Math.min(BYTE_UNITS.length - 1, Math.floor(Math.log10(value) / 3));
  const shown = value / 1_000 ** power;
  return `${power === 0 || shown >= 100 ? Math.round(shown) : shown.toFixed(1)} ${BYTE_UNITS[power]}`;
}

export function msText(value: number): string {
  if (value === 0) return '0 ms';
  if (value < 10) return `${value.toFixed(1)} ms`;
  if (value < 1_000) return `${Math.round(value)} ms`;
  if (value < 60_000) return `${(value / 1_000).toFixed(1)} s`;
  return `${Math.floor(value / 60_000)} min ${Math.round((value % 60_000) / 1_000)} s`;
}

/** A time in the user's time zone. The tooltip shows UTC. */
export function Time({ at }: { at: string | number | null | undefined }) {
  if (at === null || at === undefined) return missingValueView();
  const iso = new Date(at).toISOString();
  const utc = `${iso.slice(0, 19).replace('T', ' ')} UTC, ${relativeTimeText(at)}`;
  return html`<time dateTime=${iso} title=${utc}>${timeText(at)}</time>`;
}

interface FigureProps {
  value: number | null | undefined;
}

export function ByteSize({ value }: FigureProps) {
  return value == null ? missingValueView() : figureView(bytesText(value), `${countText(value)} bytes`);
}

export function Milliseconds({ value }: FigureProps) {
  return value == null ? missingValueView() : figureView(msText(value));
}

export function Count({ value }: FigureProps) {
  return value == null ? missingValueView() : figureView(countText(value));
}

function figureView(text: string, title?: string) {
  return html`<span class="figure" title=${title}>${text}</span>`;
}

/** The dash that is shown instead of a missing value. */
function missingValueView() {
  return html`<span class="quiet">–</span>`;
}

/** The icon of the copy button is an SVG path, because few fonts contain such a character. */
const COPY_ICON_PATH = 'M10 10v4.5H1.5V6H6M6 1.5h8.5V10H6z';
const TICK_ICON_PATH = 'M2 8.5l4 4L14 4';

/**
 * Text with a button that copies it.
 * @param label what is shown instead of the text.
 */
export function Copy({ text, label }: { text: string; label?: View }) {
  const [isCopied, setIsCopied] = useState(false);
  const copy = async (event: MouseEvent) => {
    event.preventDefault();
    event.stopPropagation();
    await copyText(text);
    setIsCopied(true);
    setTimeout(() => setIsCopied(false), COPIED_LABEL_MS);
  };
  return html`<button type="button" class="copy" title="Copy" aria-label=${`Copy ${text}`} onClick=${copy}>
    <span class="copy-text">${label ?? text}</span>
    <svg class="copy-mark" viewBox="0 0 16 16" aria-hidden="true"><path d=${isCopied ? TICK_ICON_PATH : COPY_ICON_PATH} /></svg>
    <span class="unseen" role="status">${isCopied ? 'Copied' : ''}</span>
  </button>`;
}

/** Copies text to the clipboard, even on a page that was loaded over plain http. */
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text);
  const field = document.createElement('textarea');
  field.value = text;
  (document.querySelector('dialog[open]') ?? document.body).append(field);
  field.select();
  document.execCommand('copy');
  field.remove();
}

/**
 * An id that can be copied. Only its end is shown.
 * @param to the address that the id links to. Default: no link.
 */
export function Id({ id, to }: { id: string | null | undefined; to?: string }) {
  if (!id) return missingValueView();
  const name = html`<span class="id" title=${id}>${shortId(id)}</span>`;
  return html`<span class="id-box">
    ${to === undefined ? name : html`<a href=${to}>${name}</a>`}<${Copy} text=${id} label="" />
  </span>`;
}

/**
 * Shortens an id to its prefix and its last characters, because ids that were created at about the same time begin
 * alike. An id that consists of words, such as that of a built-in preset, is not shortened.
 */
export function shortId(id: string): string {
  if (/^[a-z]{3,}(-[a-z]+)+$/.test(id)) return id;
  const [, kind = '', rest = id] = /^([a-z]+_)(.+)$/.exec(id) ?? [];
  return rest.length > 12 ? `${kind}…${rest.slice(-8)}` : id;
}

export type Tone = 'good' | 'bad' | 'busy' | 'quiet' | 'warn';

/** The tone, and with it the colour, of each word that the API uses for a state. */
const STATE_TONES: readonly [tone: Tone, words: RegExp][] = [
  ['good', /^(completed|succeeded|success|delivered|active|enabled|ok|ready|live|all)$/],
  ['bad', /^(failed|error|exhausted|dead|none|hung|problem)$/],
  ['busy', /^(processing|running|in_progress|delivering|uploading|starting)$/],
  ['warn', /^(disabled|retrying|partial|some|warning|draining|suspended)$/],
];

/**
 * A state as a coloured label.
 * @param tone the tone of the label. Default: the tone of the word in STATE_TONES.
 */
export function Status({ status, tone }: { status: string; tone?: Tone }) {
  const word = status.toLowerCase();
  const shown = tone ?? STATE_TONES.find(([, words]) => words.test(word))?.[0] ?? 'quiet';
  return html`<span class=${`status ${shown}`}>${word.replaceAll('_', ' ')}</span>`;
}

export interface CodeSample {
  label: string;
  code: string;
}

/** Code samples in several languages. Tabs choose the one that is shown, and a button copies it. */
export function Code({ samples, label = 'Language' }: { samples: readonly CodeSample[]; label?: string }) {
  const [chosen, setChosen] = useState(samples[0]?.label ?? '');
  const shown = samples.find((sample) => sample.label === chosen) ?? samples[0];
  if (shown === undefined) return null;
  return html`<div class="code">
    <div class="code-head">
      <${Tabs}
        label=${label}
        choices=${samples.map((sample) => ({ name: sample.label, label: sample.label }))}
        current=${shown.label}
        onChoose=${setChosen}
      />
      <${Copy} text=${shown.code} label="Copy" />
    </div>
    <pre tabindex="0" role="group" aria-label=${shown.label}><code>${shown.code}</code></pre>
  </div>`;
}

/**
 * How long each phase of a call took, as a bar and as a list.
 * @param timing milliseconds by phase, and their `total`.
 */
export function TimingBar({ timing }: { timing: Readonly<Record<string, number>> }) {
  const { total = 0, ...parts } = timing;
  const known = Object.entries(parts).filter(([, ms]) => ms > 0);
  const rest = total - known.reduce((sum, [, ms]) => sum + ms, 0);
  const shown = rest > 0.1 ? [...known, ['other', rest] as const] : known;
  return html`<div class="timing">
    <div class="timing-bar" aria-hidden="true">
      ${shown.map(
        ([name, ms]) =>
          html`<span key=${name} class=${`part-${name}`} style=${{ flexGrow: String(ms) }} title=${name}></span>`,
      )}
    </div>
    <ul>
      ${shown.map(
        ([name, ms]) =>
          html`<li key=${name}>
            <span class=${`dot part-${name}`} aria-hidden="true"></span>${name}
            <span class="figure">${msText(ms)}</span>
          </li>`,
      )}
    </ul>
  </div>`;
}

export interface TimelineEntry {
  at: string | number | null;
  title: View;
  tone?: Tone;
  /** Further details below the title. */
  view?: View;
}

/** Events, one below the other, in the given order. */
export function Timeline({ entries }: { entries: readonly TimelineEntry[] }) {
  return html`<ol class="timeline">
    ${entries.map(
      ({ at, title, tone = 'quiet', view }, index) => html`<li key=${index} class=${tone}>
        <div class="timeline-head"><span>${title}</span><${Time} at=${at} /></div>
        ${view}
      </li>`,
    )}
  </ol>`;
}
