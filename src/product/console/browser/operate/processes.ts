import { html } from '../html.ts';
import { Button } from '../parts/button.ts';
import { type Column, Table } from '../parts/table.ts';
import { bytesText, msText, Status } from '../parts/values.ts';
import type { Host, PoolLoad, Process } from './state.ts';

const POOL_TITLES: readonly [name: keyof NonNullable<Process['pools']>, title: string, isWide: boolean][] = [
  ['image', 'Image', false],
  ['slow', 'Slow', true],
  ['heavy', 'Heavy', true],
  ['batch', 'Batch', true],
  ['render', 'Render', true],
];

/** The API processes of a host: what each is working on, and what waits. */
export function Processes({ host, onDrain }: { host: Host; onDrain: (process: Process) => void }) {
  const columns: Column<Process>[] = [
    {
      name: 'name',
      title: 'Process',
      of: ({ name }) => html`<code title=${name}>${name.split('/').at(-1)}</code>`,
      width: '84px',
    },
    { name: 'state', title: 'State', of: stateView, width: '100px' },
    ...POOL_TITLES.map(
      ([name, title, isWide]): Column<Process> => ({
        name,
        title,
        isNumber: true,
        isWide,
        // What waits follows what is busy.
        ...(name === 'image' && { width: '96px' }),
        of: ({ pools }) => poolView(pools?.[name]),
      }),
    ),
    { name: 'wait', title: 'Wait', isNumber: true, isWide: true, of: ({ pools }) => waitText(pools?.image) },
    {
      name: 'memory',
      title: 'Memory',
      isNumber: true,
      isWide: true,
      of: ({ rssBytes }) => (rssBytes === undefined ? '–' : bytesText(rssBytes)),
    },
    {
      name: 'uptime',
      title: 'Up',
      isNumber: true,
      isWide: true,
      of: ({ uptimeSeconds }) => upText(uptimeSeconds),
    },
    { name: 'log', title: 'Log', isWide: true, of: ({ logLevel }) => logLevel ?? '–', width: '72px' },
    {
      name: 'act',
      title: '',
      width: '92px',
      of: (process) =>
        html`<${Button} kind="link" isDisabled=${process.state === 'starting'} label=${`Replace process ${process.name}`} onClick=${() => onDrain(process)}>Replace<//>`,
    },
  ];
  return html`<${Table}
    label="API processes"
    columns=${columns}
    rows=${host.processes}
    keyOf=${({ name }: Process) => name}
    empty=${html`<p class="quiet">No process has started yet.</p>`}
  />`;
}

function stateView({ state, silentMs }: Process) {
  if (state !== 'silent')
    return html`<${Status} status=${state} tone=${state === 'serving' ? 'good' : 'busy'} />`;
  return html`<${Status} status=${`silent ${Math.round(silentMs / 1_000)} s`} tone="bad" />`;
}

/** How many threads of a pool are busy, and what waits for one. */
function poolView(pool: PoolLoad | undefined) {
  if (pool === undefined) return '–';
  const { threads, busy, queued } = pool;
  return html`<span class=${busy >= threads && queued > 0 ? 'full-pool' : undefined}>
    ${busy} of ${threads}${queued > 0 && html` <b>+${queued}</b>`}
  </span>`;
}

function waitText(pool: PoolLoad | undefined): string {
  return pool?.waitMs === undefined ? '–' : msText(pool.waitMs);
}

function upText(seconds: number): string {
  if (seconds < 3_600) return seconds < 60 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / 86_400)} d`;
}

/** The processes of a host by role: their number, and what they use. */
export function Roles({
  host: { countByRole, cpuByRole, memoryByRole, cores, memoryLimitBytes },
}: {
  host: Host;
}) {
  const roles = Object.keys(countByRole).filter((role) => (countByRole[role] ?? 0) > 0);
  const sum = (values: Readonly<Record<string, number>>) =>
    Object.values(values).reduce((total, one) => total + one, 0);
  const row = (role: string, count: number, cpu: number, memory: number) => html`<tr key=${role}>
    <th scope="row">${role}</th>
    <td class="number">${count}</td>
    <td class="number"><${Share} part=${cpu} of=${cores} text=${cpu.toFixed(2)} /></td>
    <td class="number"><${Share} part=${memory} of=${memoryLimitBytes} text=${bytesText(memory)} /></td>
  </tr>`;
  return html`<div class="scroll" tabindex="0" role="group" aria-label="Processes by role"><table class="roles">
    <caption class="unseen">Processes by role</caption>
    <thead>
      <tr><th scope="col">Role</th><th scope="col" class="number">Processes</th><th scope="col" class="number">Cores</th><th scope="col" class="number">Memory</th></tr>
    </thead>
    <tbody>
      ${roles.map((role) => row(role, countByRole[role] ?? 0, cpuByRole[role] ?? 0, memoryByRole[role] ?? 0))}
      ${row(`all, of ${cores} cores and ${bytesText(memoryLimitBytes)}`, sum(countByRole), sum(cpuByRole), sum(memoryByRole))}
    </tbody>
  </table></div>`;
}

/** A figure with a bar of its share. */
function Share({ part, of, text }: { part: number; of: number; text: string }) {
  const share = Math.min(1, of > 0 ? part / of : 0);
  return html`<span class="role-share"><i style=${{ width: `${share * 100}%` }}></i></span> ${text}`;
}
