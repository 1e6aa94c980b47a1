import { html, useEffect, useRef, useState, type View } from '../html.ts';
import { callOperator } from '../operator.ts';
import { Button } from '../parts/button.ts';
import { confirmed } from '../parts/dialog.ts';
import { errorAt, Field } from '../parts/form.ts';
import { submits, takesText } from '../parts/handlers.ts';
import { useAction } from '../parts/reading.ts';
import { ErrorBox } from '../parts/states.ts';
import { toast } from '../parts/toast.ts';
import { Shared } from '../shared.ts';
import type { Host, Process } from './state.ts';

/** The setting that a verdict or a finding proposes to change. The form takes it over. */
export const proposed = new Shared<{ setting: string; value?: number } | null>(null);

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];
const TIMES: readonly [value: string, label: string][] = [
  ['10m', 'for 10 minutes'],
  ['1h', 'for an hour'],
  ['', 'until it is changed'],
];

interface ActResult {
  lines: readonly string[];
}

/**
 * Changes a setting after a confirmation, and shows what each process answered.
 * @throws DarkroomError
 */
export async function changeSetting(
  setting: string,
  value: number,
  { save = false, yes = false } = {},
): Promise<void> {
  const { lines } = await callOperator<ActResult>('POST', '/settings', {
    body: { setting, value, save, yes },
  });
  toast(html`${setting} is ${value}. ${lines.find((line) => line.includes('warning')) ?? ''}`);
}

/**
 * Replaces a process after a confirmation.
 * @throws DarkroomError
 */
export async function drain({ name }: Process): Promise<void> {
  const isMeant = await confirmed({
    title: 'Replace this process?',
    text: html`A new process takes calls before <code>${name}</code> ends, which finishes its own first. No call fails.`,
    act: 'Replace it',
  });
  if (!isMeant) return;
  await callOperator<ActResult>('POST', '/drains', { body: { process: name } });
  toast(html`The process ${name} is replaced.`);
}

/** The settings and the log level of the running service. */
export function Controls({ host }: { host: Host }) {
  return html`<div class="controls">
    <${SettingForm} settings=${host.settings} />
    <${LogForm} level=${host.processes.find(({ logLevel }) => logLevel !== undefined)?.logLevel ?? 'info'} />
  </div>`;
}

function SettingForm({ settings }: { settings: Host['settings'] }) {
  const { act, isActing, error, clear } = useAction();
  const [setting, setSetting] = useState('IMAGE_THREADS');
  const [typed, setTyped] = useState('');
  const field = useRef<HTMLInputElement>(null);
  const proposal = proposed.use();
  useEffect(() => {
    if (proposal === null) return;
    setSetting(proposal.setting);
    setTyped(proposal.value === undefined ? '' : String(proposal.value));
    field.current?.focus();
    proposed.set(null);
  }, [proposal]);
  const change = (form: FormData) =>
    act(async () => {
      await changeSetting(setting, Number(typed), { save: form.has('save'), yes: form.has('yes') });
      setTyped('');
    });
  return html`<form class="card" onSubmit=${submits(change)}>
    <h3>Change a setting</h3>
    <div class="setting">
      <${Field} label="Setting">
        <select
          name="setting"
          value=${setting}
          onChange=${takesText((name) => {
            setSetting(name);
            clear();
          })}
        >
          ${Object.keys(settings).map((name) => html`<option key=${name} value=${name}>${name}</option>`)}
        </select>
      <//>
      <${Field} label=${html`Value <span class="quiet">now ${settings[setting] ?? '–'}</span>`} error=${errorAt(error, 'value')}>
        <input ref=${field} name="value" type="number" required value=${typed} onInput=${takesText(setTyped)} />
      <//>
    </div>
    <label class="check"><input type="checkbox" name="save" /> Keep it in the settings file of every host</label>
    <label class="check"><input type="checkbox" name="yes" /> Allow more than 4 threads or processes per core</label>
    ${error !== undefined && errorAt(error, 'value') === undefined && html`<${ErrorBox} error=${error} />`}
    <${Button} kind="primary" submits isBusy=${isActing}>Set<//>
    <p class="quiet">On every host, without a failed call, until the next start. The plots mark it.</p>
  </form>`;
}

function LogForm({ level }: { level: string }) {
  const { act, isActing, error } = useAction();
  const change = (form: FormData) =>
    act(async () => {
      const [chosen, time] = [form.get('level'), form.get('for')];
      await callOperator('POST', '/log-level', { body: { level: chosen, ...(time && { for: time }) } });
      toast(html`The log level is ${chosen}.`);
    });
  const choices = (of: readonly (readonly [string, View])[]) =>
    of.map(([value, label]) => html`<option key=${value} value=${value}>${label}</option>`);
  return html`<form class="card" onSubmit=${submits(change)}>
    <h3>Log more, or less</h3>
    <div class="setting">
      <${Field} label=${html`Level <span class="quiet">now ${level}</span>`}>
        <select name="level" value="debug">${choices(LEVELS.map((one) => [one, one]))}</select>
      <//>
      <${Field} label="How long">
        <select name="for">${choices(TIMES)}</select>
      <//>
    </div>
    ${error !== undefined && html`<${ErrorBox} error=${error} />`}
    <${Button} submits isBusy=${isActing}>Change the level<//>
    <p class="quiet"><code>debug</code> tells the pool, estimate and wait of each pass, and each refusal.</p>
  </form>`;
}
