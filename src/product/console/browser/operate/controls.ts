import { html, SharedState, useEffect, useRef, useState } from '../html.ts';
import { callOperator } from '../operator.ts';
import type {
  OperatorFinding,
  OperatorHost,
  OperatorProcess,
  OperatorSettingRequest,
} from '../operator-schema.ts';
import { Button, errorMessageAt, Field, onSubmitFields, onText, Select } from '../parts/controls.ts';
import { askToConfirm, toast } from '../parts/overlays.ts';
import { ErrorBox, Progress, Section } from '../parts/page.ts';
import { useAction, useLoad } from '../parts/reading.ts';
import { Status, Time } from '../parts/values.ts';

/** A change of a setting that a verdict or a finding suggests. The settings form shows the suggestion. */
const proposedSetting = new SharedState<{ setting: string; value?: number } | null>(null);

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];
const LOG_LEVEL_DURATIONS = [
  { value: '10m', label: 'for 10 minutes' },
  { value: '1h', label: 'for an hour' },
  { value: '', label: 'until it is changed' },
];

/**
 * Changes a setting after a confirmation, and shows the answer of each process.
 * @throws DarkroomError
 */
export async function changeSetting(
  setting: string,
  value: number,
  { save = false, yes = false } = {},
): Promise<void> {
  const { lines } = await callOperator('POST /settings', {
    body: { setting: setting as OperatorSettingRequest['setting'], value, save, yes },
  });
  toast(html`${setting} is ${value}. ${lines.find((line) => line.includes('warning')) ?? ''}`);
}

/**
 * Replaces an API process by a new one, after a confirmation.
 * @throws DarkroomError
 */
export async function drainProcess({ name }: OperatorProcess): Promise<void> {
  const isMeant = await askToConfirm({
    title: 'Replace this process?',
    text: html`A new process takes calls before <code>${name}</code> ends, which finishes its own first. No call fails.`,
    act: 'Replace it',
  });
  if (!isMeant) return;
  await callOperator('POST /drains', { body: { process: name } });
  toast(html`The process ${name} is replaced.`);
}

/** The settings and the log level of the running service. */
export function Controls({ host }: { host: OperatorHost }) {
  return html`<div class="controls">
    <${SettingForm} settings=${host.settings} />
    <${LogLevelForm} level=${host.processes.find(({ logLevel }) => logLevel !== undefined)?.logLevel ?? 'info'} />
  </div>`;
}

function SettingForm({ settings }: { settings: OperatorHost['settings'] }) {
  const { act, isActing, error, clear } = useAction();
  const [setting, setSetting] = useState('IMAGE_THREADS');
  const [typed, setTyped] = useState('');
  const field = useRef<HTMLInputElement>(null);
  const proposal = proposedSetting.use();
  useEffect(() => {
    if (proposal === null) return;
    setSetting(proposal.setting);
    setTyped(proposal.value === undefined ? '' : String(proposal.value));
    field.current?.focus();
    proposedSetting.set(null);
  }, [proposal]);
  const change = (form: FormData) =>
    act(async () => {
      await changeSetting(setting, Number(typed), { save: form.has('save'), yes: form.has('yes') });
      setTyped('');
    });
  return html`<form class="card" onSubmit=${onSubmitFields(change)}>
    <h3>Change a setting</h3>
    <div class="setting">
      <${Field} label="Setting">
        <${Select}
          name="setting"
          value=${setting}
          choices=${Object.keys(settings)}
          onChange=${(name: string) => {
            setSetting(name);
            clear();
          }}
        />
      <//>
      <${Field} label=${html`Value <span class="quiet">now ${settings[setting] ?? '–'}</span>`} error=${errorMessageAt(error, 'value')}>
        <input ref=${field} name="value" type="number" required value=${typed} onInput=${onText(setTyped)} />
      <//>
    </div>
    <label class="check"><input type="checkbox" name="save" /> Keep it in the settings file of every host</label>
    <label class="check"><input type="checkbox" name="yes" /> Allow more than 4 threads or processes per core</label>
    ${error !== undefined && errorMessageAt(error, 'value') === undefined && html`<${ErrorBox} error=${error} />`}
    <${Button} kind="primary" submits isBusy=${isActing}>Set<//>
    <p class="quiet">On every host, without a failed call, until the next start. The plots mark it.</p>
  </form>`;
}

function LogLevelForm({ level }: { level: string }) {
  const { act, isActing, error } = useAction();
  const change = (form: FormData) =>
    act(async () => {
      const [level, time] = [String(form.get('level')), String(form.get('for'))];
      await callOperator('POST /log-level', { body: { level, ...(time !== '' && { for: time }) } });
      toast(html`The log level is ${level}.`);
    });
  return html`<form class="card" onSubmit=${onSubmitFields(change)}>
    <h3>Log more, or less</h3>
    <div class="setting">
      <${Field} label=${html`Level <span class="quiet">now ${level}</span>`}>
        <${Select} name="level" value="debug" choices=${LOG_LEVELS} />
      <//>
      <${Field} label="How long">
        <${Select} name="for" choices=${LOG_LEVEL_DURATIONS} />
      <//>
    </div>
    <${ErrorBox} error=${error} />
    <${Button} submits isBusy=${isActing}>Change the level<//>
    <p class="quiet"><code>debug</code> tells the pool, estimate and wait of each pass, and each refusal.</p>
  </form>`;
}

const FINDING_TONES = { problem: 'bad', warning: 'warn', ok: 'good' } as const;

/** The findings of `doctor` about the host, problems first. They are read once, and again when the user requests it. */
export function Doctor({ settings }: { settings: OperatorHost['settings'] }) {
  const isFresh = useRef(false);
  const { data, error, isLoading, reload } = useLoad(
    (signal) =>
      callOperator('GET /findings', { query: { fresh: isFresh.current }, signal, timeoutMs: 100_000 }),
    [],
  );
  const examineAgain = () => {
    isFresh.current = true;
    reload();
  };
  const findings = data?.findings ?? [];
  const failed = (['problem', 'warning'] as const).flatMap((state) =>
    findings.filter((finding) => finding.state === state),
  );
  const passed = findings.filter(({ state }) => state === 'ok');
  return html`<${Section}
    title="Doctor"
    actions=${html`${data && html`<span class="quiet">Examined <${Time} at=${data.at} /></span>`}
      <${Button} isBusy=${isLoading} onClick=${examineAgain}>Examine again<//>`}
  >
    <${ErrorBox} error=${error} onRetry=${examineAgain} />
    ${isLoading && data === undefined && html`<${Progress} label="The doctor examines this host" />`}
    ${
      data !== undefined &&
      html`<ul class="findings">
        ${failed.map((finding) => html`<${FindingRow} key=${finding.message} finding=${finding} settings=${settings} />`)}
        ${failed.length === 0 && html`<li><${Status} status="ok" /> <p>Nothing is wrong with this host, its settings and its services.</p></li>`}
      </ul>
      <details>
        <summary>${passed.length} examinations found nothing wrong</summary>
        <ul class="findings">
          ${passed.map((finding) => html`<${FindingRow} key=${finding.message} finding=${finding} settings=${settings} />`)}
        </ul>
      </details>`
    }
  <//>`;
}

function FindingRow({ finding, settings }: { finding: OperatorFinding; settings: OperatorHost['settings'] }) {
  const { part, state, message, remedy } = finding;
  const changeable = finding.settings.filter((name) => name in settings);
  return html`<li>
    <${Status} status=${state} tone=${FINDING_TONES[state]} />
    <div>
      <p><b>${part}</b> ${message}</p>
      ${remedy !== null && html`<p class="remedy">${remedy}</p>`}
      ${changeable.map(
        (name) =>
          html`<${Button} key=${name} kind="link" onClick=${() => proposedSetting.set(proposalIn(name, remedy ?? ''))}>Change ${name}<//>`,
      )}
    </div>
  </li>`;
}

/**
 * The change of a setting that a remedy proposes. The value is the one in its text, such as 2 in `Set PROCESSES to 2`;
 * absent if there is none.
 */
function proposalIn(setting: string, remedy: string): { setting: string; value?: number } {
  const [, value] = new RegExp(`${setting} (?:to|=) ?(\\d+)`).exec(remedy) ?? [];
  return value === undefined ? { setting } : { setting, value: Number(value) };
}
