import { html, useRef } from '../html.ts';
import { callOperator } from '../operator.ts';
import { Button } from '../parts/button.ts';
import { Section } from '../parts/page.ts';
import { useReading } from '../parts/reading.ts';
import { ErrorBox, Progress } from '../parts/states.ts';
import { Status, Time } from '../parts/values.ts';
import { proposed } from './controls.ts';
import type { Finding, Findings, Host } from './state.ts';

const TONES = { problem: 'bad', warning: 'warn', ok: 'good' } as const;

/** The doctor's findings about the host, problems first. They are read once, and again on demand. */
export function Doctor({ settings }: { settings: Host['settings'] }) {
  const isFresh = useRef(false);
  const { data, error, isLoading, reload } = useReading(
    (signal) =>
      callOperator<Findings>('GET', '/findings', {
        query: { fresh: isFresh.current },
        signal,
        timeoutMs: 100_000,
      }),
    [],
  );
  const again = () => {
    isFresh.current = true;
    reload();
  };
  const of = (state: Finding['state']) => data?.findings.filter((finding) => finding.state === state) ?? [];
  const [problems, warnings, well] = [of('problem'), of('warning'), of('ok')];
  const wrong = [...problems, ...warnings];
  return html`<${Section}
    title="Doctor"
    actions=${html`${data && html`<span class="quiet">Examined <${Time} at=${data.at} /></span>`}
      <${Button} isBusy=${isLoading} onClick=${again}>Examine again<//>`}
  >
    <${ErrorBox} error=${error} onRetry=${again} />
    ${isLoading && data === undefined && html`<${Progress} label="The doctor examines this host" />`}
    ${
      data !== undefined &&
      html`<ul class="findings">
        ${wrong.map((finding) => html`<${One} key=${finding.message} finding=${finding} settings=${settings} />`)}
        ${wrong.length === 0 && html`<li><${Status} status="ok" /> <p>Nothing is wrong with this host, its settings and its services.</p></li>`}
      </ul>
      <details>
        <summary>${well.length} examinations found nothing wrong</summary>
        <ul class="findings">
          ${well.map((finding) => html`<${One} key=${finding.message} finding=${finding} settings=${settings} />`)}
        </ul>
      </details>`
    }
  <//>`;
}

function One({ finding, settings }: { finding: Finding; settings: Host['settings'] }) {
  const { part, state, message, remedy } = finding;
  const changeable = finding.settings.filter((name) => name in settings);
  return html`<li>
    <${Status} status=${state} tone=${TONES[state]} />
    <div>
      <p><b>${part}</b> ${message}</p>
      ${remedy !== null && html`<p class="remedy">${remedy}</p>`}
      ${changeable.map(
        (name) =>
          html`<${Button} key=${name} kind="link" onClick=${() => proposed.set(proposalIn(name, remedy ?? ''))}>Change ${name}<//>`,
      )}
    </div>
  </li>`;
}

/** The value that a remedy proposes for a setting, such as `Set PROCESSES to 2`. */
function proposalIn(setting: string, remedy: string): { setting: string; value?: number } {
  const [, value] = new RegExp(`${setting} (?:to|=) ?(\\d+)`).exec(remedy) ?? [];
  return value === undefined ? { setting } : { setting, value: Number(value) };
}
