import type { Difference, OpDefinition } from '../../../../client/schema.ts';
import { html, useState, type View } from '../html.ts';
import { Button } from '../parts/button.ts';
import { Code } from '../parts/code.ts';
import { useObjectUrl } from '../parts/object-url.ts';
import { type Fact, Facts } from '../parts/page.ts';
import { useAction } from '../parts/reading.ts';
import { ErrorBox } from '../parts/states.ts';
import { Tabs } from '../parts/tabs.ts';
import { TimingBar } from '../parts/timing.ts';
import { bytesText, Copy, Id, msText } from '../parts/values.ts';
import { api } from '../session.ts';
import { Comparison } from './comparison.ts';
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

/** What the last run made, with its facts. */
export function ResultView({ outcome, source, definition, work }: ResultViewProps) {
  const [chosen, setChosen] = useState('');
  const { pictures, failures, json, isSample, jobId, tookMs } = outcome;
  const picture = pictures.find(({ name }) => name === chosen) ?? pictures[0];
  const before = needsPicture(work, definition) ? source : undefined;
  const ofRun: readonly Fact[] = [
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
        ? html`<${Facts} of=${ofRun} />`
        : html`<${PictureView} key=${picture.name} picture=${picture} before=${before} ofRun=${ofRun} />`
    }
    ${json !== undefined && html`<${Code} samples=${[{ label: 'Answer', code: JSON.stringify(json, null, 2) }]} />`}
  `;
}

interface PictureViewProps {
  picture: ResultPicture;
  before: SourcePicture | undefined;
  /** What is known of the run that made it. */
  ofRun: readonly Fact[];
}

function PictureView({ picture, before, ofRun }: PictureViewProps) {
  const { blob, width, height, format, warnings, timing, achieved, requestId, name } = picture;
  const url = useObjectUrl(blob);
  const growth =
    before === undefined || before.blob.size === 0 ? undefined : blob.size / before.blob.size - 1;
  const change =
    growth !== undefined &&
    html`<span class=${`change ${growth > 0 ? 'bad' : 'good'}`}>${growth > 0 ? '+' : '−'}${Math.abs(growth * 100).toFixed(1)} %</span>`;
  const bytes = () => html`<span class="figure">${bytesText(blob.size)}</span> ${change}`;
  const size = `${width} × ${height} px`;
  return html`
    <${Comparison}
      before=${before !== undefined && before.width > 0 ? before : undefined}
      after=${picture}
      facts=${html`${bytes()}, ${size}`}
    />
    <${Facts}
      of=${[
        ['Bytes', bytes()],
        ['Size', size],
        ['Format', format],
        ...ofRun,
        ...Object.entries(achieved).map(([what, value]) => [ACHIEVED[what] ?? what, String(value)] as const),
        ['Likeness', html`<${Likeness} before=${before} after=${picture} />`],
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

/** What a search reached, in words. */
const ACHIEVED: Readonly<Record<string, string>> = {
  quality: 'Quality',
  ssim: 'SSIM',
  ssimulacra2: 'SSIMULACRA 2',
  trials: 'Trials',
};

function warningView({ code, name }: ResultPicture['warnings'][number]): View {
  return html`<code>${code}</code>${name !== undefined && ` ${name}`}`;
}

/**
 * The smallest edge of pictures with a SSIMULACRA 2 score. For smaller ones, the likeness is that of brightness alone.
 */
const MIN_SCORED_EDGE_PX = 8;
const MAX_SCORED_PX = 4_000_000;

/** The likeness of the result to the original. It is measured on demand, because it counts as a run. */
function Likeness({ before, after }: { before: SourcePicture | undefined; after: ResultPicture }) {
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
  const ssimulacra2 = Math.min(after.width, after.height) >= MIN_SCORED_EDGE_PX && pixels <= MAX_SCORED_PX;
  const measure = () =>
    act(async () => setFound(await api.images.compare(before.blob, after.blob, { ssimulacra2 })));
  return html`<${Button} kind="link" isBusy=${isActing} onClick=${measure}>Measure<//> <${ErrorBox} error=${error} />`;
}
