import { html, useRef, useState, type View } from '../html.ts';
import { Controls, changeSetting, Doctor, drainProcess } from '../operate/controls.ts';
import { Plots, Processes, Roles } from '../operate/host.ts';
import { callOperator, endOperatorSession, OperatorOnly } from '../operator.ts';
import type {
  OperatorHistory,
  OperatorHost,
  OperatorProcess,
  OperatorState,
  OperatorVerdict,
} from '../operator-schema.ts';
import { Button, Tabs } from '../parts/controls.ts';
import { askToConfirm } from '../parts/overlays.ts';
import { ErrorBox, LabelledValues, NotLoadedPage, Page, Section } from '../parts/page.ts';
import { useAction, usePoll } from '../parts/reading.ts';
import { bytesText, Timeline } from '../parts/values.ts';
import { useQuery } from '../router.ts';

const STATE_POLL_INTERVAL_MS = 4_000;
/** The interval between two reads while the service is idle. The service takes a sample every ten seconds. */
const IDLE_STATE_POLL_INTERVAL_MS = 10_000;
/** The timeout of a read, in milliseconds. Only a process that hangs needs longer. */
const STATE_TIMEOUT_MS = 4_000;
/** The number of samples that the service keeps: one hour of them. */
const MAX_KEPT_SAMPLES = 360;
const MAX_KEPT_MARKS = 200;
const RESTART_REASON_TEXTS: Readonly<Record<string, string>> = {
  ...{ exit: 'ended', signal: 'killed', memory: 'killed for want of memory', hung: 'hung' },
};
const MAX_LISTED_MARKS = 12;
const MARK_TONES = { set: 'good', drain: 'busy', log: 'quiet', reload: 'busy', restart: 'bad' } as const;

/** The screen with the current state and the last hour of the service. It can stay open on a wall display. */
export default function OperateScreen() {
  return html`<${OperatorOnly} title="Operate">${() => html`<${Operate} />`}<//>`;
}

function Operate() {
  const known = useRef(new Map<string, OperatorHost>());
  const { data, error, isPaused, setPaused, reload } = usePoll(
    async (signal) => {
      const after = knownUntilMs([...known.current.values()]);
      const fields = { query: { after }, signal, timeoutMs: STATE_TIMEOUT_MS };
      const state = await callOperator('GET /state', fields);
      const hosts = state.hosts.map((host) => ({
        ...host,
        history: joinHistories(known.current.get(host.hostId)?.history, host.history),
      }));
      known.current = new Map(hosts.map((host) => [host.hostId, host]));
      return { ...state, hosts };
    },
    [],
    (state) =>
      state !== undefined && isServiceHealthyAndIdle(state)
        ? IDLE_STATE_POLL_INTERVAL_MS
        : STATE_POLL_INTERVAL_MS,
  );
  const [{ host: chosen }, change] = useQuery({ host: '' });
  const host = data?.hosts.find(({ hostId }) => hostId === chosen) ?? data?.hosts[0];
  const actions = html`
    <${Button} onClick=${() => setPaused(!isPaused)}>${isPaused ? 'Go on' : 'Pause'}<//>
    <${Button} onClick=${() => endOperatorSession()}>Close these screens<//>
  `;
  if (data === undefined || host === undefined)
    return html`<${NotLoadedPage} title="Operate" error=${error} reload=${reload} />`;
  return html`<${Page} title="Operate" actions=${actions}>
    <${Verdicts} state=${data} onDone=${reload} />
    <${ErrorBox} error=${error} onRetry=${reload} />
    ${
      data.hosts.length > 1 &&
      html`<${Tabs}
        label="Host"
        current=${host.hostId}
        choices=${data.hosts.map(({ hostId }) => ({ name: hostId, label: hostId }))}
        onChoose=${(hostId: string) => change({ host: hostId })}
      />`
    }
    <${HostSection} key=${host.hostId} host=${host} onDone=${reload} />
  <//>`;
}

/** Appends the latest samples of a host to the known ones. Samples older than an hour are dropped. */
function joinHistories(known: OperatorHistory | undefined, latest: OperatorHistory): OperatorHistory {
  const last = known?.at.at(-1) ?? 0;
  const fresh = latest.at.map((at) => at > last);
  const isFresh = (_: unknown, index: number) => fresh[index] === true;
  const before = known?.at.length ?? 0;
  const names = new Set([...Object.keys(known?.series ?? {}), ...Object.keys(latest.series)]);
  const joinedSeries = (name: string): (number | null)[] => {
    const old = known?.series[name] ?? Array.from({ length: before }, () => 0);
    const added = latest.series[name] ?? latest.at.map(() => 0);
    return [...old, ...added.filter(isFresh)].slice(-MAX_KEPT_SAMPLES);
  };
  const marks = new Map(
    [...(known?.marks ?? []), ...latest.marks].map((mark) => [`${mark.at}${mark.text}`, mark]),
  );
  return {
    at: [...(known?.at ?? []), ...latest.at.filter(isFresh)].slice(-MAX_KEPT_SAMPLES),
    series: Object.fromEntries([...names].map((name) => [name, joinedSeries(name)])),
    marks: [...marks.values()].slice(-MAX_KEPT_MARKS),
  };
}

/** The latest instant up to which the samples and marks of every host are known, in epoch milliseconds. */
function knownUntilMs(hosts: readonly OperatorHost[]): number {
  const lastInstants = hosts.map(({ history }) =>
    Math.max(history.at.at(-1) ?? 0, history.marks.at(-1)?.at ?? 0),
  );
  return lastInstants.length === 0 ? 0 : Math.min(...lastInstants);
}

/** Whether the service is idle: nothing is wrong, every process is serving, and no pool has work. */
function isServiceHealthyAndIdle({ verdict, hosts }: OperatorState): boolean {
  const processes = hosts.flatMap((host) => host.processes);
  return (
    verdict.tone === 'good' &&
    processes.every(({ state, pools = {} }) => {
      const hasWork = Object.values(pools).some(({ busy, queued }) => busy + queued > 0);
      return state === 'serving' && !hasWork;
    })
  );
}

/** Shows the verdicts. The most serious one is large, and the others follow it. */
function Verdicts({ state: { verdict, hosts }, onDone }: { state: OperatorState; onDone: () => void }) {
  const others = hosts
    .flatMap(({ verdicts }) => verdicts)
    .filter(({ sentence, tone }) => !verdict.sentence.endsWith(sentence) && tone !== 'good');
  return html`<div class=${`verdict ${verdict.tone}`} role="status">
    <p>${sentenceView(verdict.sentence)}</p>
    <${VerdictFix} verdict=${verdict} onDone=${onDone} />
    ${others.map((one) => html`<div key=${one.sentence} class=${`verdict-more ${one.tone}`}><p>${sentenceView(one.sentence)}</p><${VerdictFix} verdict=${one} onDone=${onDone} /></div>`)}
  </div>`;
}

/** Draws a sentence. Text between backticks becomes code. */
function sentenceView(sentence: string): View {
  return sentence
    .replaceAll(/(\d) (ms|s|%|MB)(?!\w)/g, '$1\u00a0$2')
    .split('`')
    .map((part, index) => (index % 2 === 0 ? part : html`<code key=${index}>${part}</code>`));
}

function VerdictFix({ verdict: { fix }, onDone }: { verdict: OperatorVerdict; onDone: () => void }) {
  const { act, isActing, error } = useAction();
  if (fix === undefined) return null;
  const { setting, value } = fix;
  const apply = async () => {
    const isMeant = await askToConfirm({
      title: `Set ${setting} to ${value}?`,
      text: 'On every host and without a failed call, until the next start. The plots show what it does.',
      act: `Set ${setting}=${value}`,
    });
    if (isMeant) await act(() => changeSetting(setting, value));
    onDone();
  };
  return html`<${Button} kind="primary" isBusy=${isActing} onClick=${apply}>Set ${setting}=${value}<//>
    <${ErrorBox} error=${error} />`;
}

function HostSection({ host, onDone }: { host: OperatorHost; onDone: () => void }) {
  const { act, error } = useAction();
  const [isOpen, setIsOpen] = useState(false);
  const { history, restarts, settings } = host;
  const free = history.series.freeBytes?.at(-1);
  const marks = history.marks.toReversed().slice(0, isOpen ? undefined : MAX_LISTED_MARKS);
  return html`
    <${LabelledValues}
      of=${[
        ['Host', host.hostId],
        ['Cores', host.cores],
        ['Memory', bytesText(host.memoryLimitBytes)],
        ['Free on the disk', free == null ? undefined : bytesText(free)],
        [
          'Restarts',
          Object.entries(restarts)
            .filter(([, count]) => count > 0)
            .map(([reason, count]) => `${count} ${RESTART_REASON_TEXTS[reason] ?? reason}`)
            .join(', ') || 'none',
        ],
      ]}
    />
    <${Section} title="The last hour"><${Plots} history=${history} /><//>
    <${Section} title="API processes">
      <${ErrorBox} error=${error} />
      <${Processes} host=${host} onDrain=${(process: OperatorProcess) => void act(() => drainProcess(process)).then(onDone)} />
    <//>
    <div class="pair">
      <${Section} title="By role"><${Roles} host=${host} /><//>
      <${Section} title="What was done, and what happened">
        ${history.marks.length === 0 && html`<p class="quiet">Nothing in the last hour.</p>`}
        <${Timeline}
          entries=${marks.map(({ at, kind, by, text }) => ({ at, tone: MARK_TONES[kind], title: text, view: by && html`<span class="quiet">by ${by}</span>` }))}
        />
        ${!isOpen && history.marks.length > MAX_LISTED_MARKS && html`<${Button} kind="link" onClick=${() => setIsOpen(true)}>All ${history.marks.length}<//>`}
      <//>
    </div>
    <${Section} title="Change the running service">
      <p class="quiet">${Object.entries(settings).map(([name, value]) => html`<code key=${name}>${name}=${value}</code> `)}</p>
      <${Controls} host=${host} />
    <//>
    <${Doctor} settings=${settings} />
  `;
}
