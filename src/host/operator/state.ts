import type { Coordination } from '../../platform/stores/coordination/port.ts';
import { askProcesses, type ControlAnswer, PRIMARY_PROCESS_ID } from '../processes/controls.ts';
import type { ProcessReport } from '../processes/process-controls.ts';
import type { HostReport } from './host-report.ts';
import type { HostVerdict, OperatorHost, OperatorProcess, OperatorState } from './schema.ts';

const TONES_BY_SERIOUSNESS: ReadonlyArray<HostVerdict['tone']> = ['bad', 'warn', 'good'];
const NO_PRIMARY_VERDICT: HostVerdict = {
  tone: 'bad',
  sentence: 'No primary process answered: is the service starting?',
};

/**
 * Asks every process of every host for its state.
 * @param afterMs epoch milliseconds. The history contains only what is newer.
 */
export async function readOperatorState(coordination: Coordination, afterMs: number): Promise<OperatorState> {
  const answers = await askProcesses(coordination, { kind: 'state', afterMs });
  const byHost = Map.groupBy(answers, ({ hostId }) => hostId);
  const hosts = [...byHost].flatMap(([hostId, ofHost]) => {
    const report = ofHost.find(({ processId }) => processId === PRIMARY_PROCESS_ID)?.data;
    return report == null ? [] : [toOperatorHost(hostId, report as unknown as HostReport, ofHost)];
  });
  return { at: new Date().toISOString(), verdict: worstVerdictOf(hosts), hosts };
}

function toOperatorHost(
  hostId: string,
  { processes, ...report }: HostReport,
  answers: readonly ControlAnswer[],
): OperatorHost {
  const reports = new Map(answers.map(({ processId, data }) => [processId, data]));
  return {
    hostId,
    ...report,
    processes: processes.map((one): OperatorProcess => {
      const own = reports.get(String(one.processId)) as ProcessReport | null | undefined;
      const { processId, isServing, ...known } = one;
      const state = own == null && isServing ? 'silent' : isServing ? 'serving' : 'starting';
      return { name: `${hostId}/${processId}`, state, ...known, ...(own != null && processDetailsOf(own)) };
    }),
  };
}

function processDetailsOf(report: ProcessReport) {
  const { rssBytes, logLevel, clockDifferenceMs, image, slow, heavy, batch, render } = report;
  const { threads, busy, waiting } = render;
  const pools = { image, slow, heavy, batch, render: { threads, busy, queued: waiting } };
  return { rssBytes, logLevel, clockDifferenceMs, pools };
}

/** The most serious verdict of all hosts. It begins with the name of the host if there are several. */
function worstVerdictOf(hosts: readonly OperatorHost[]): HostVerdict {
  const named = hosts.flatMap(({ hostId, verdicts }) =>
    verdicts.map((verdict) => ({
      ...verdict,
      sentence: hosts.length > 1 ? `${hostId}: ${verdict.sentence}` : verdict.sentence,
    })),
  );
  const [worst = NO_PRIMARY_VERDICT] = TONES_BY_SERIOUSNESS.flatMap((tone) =>
    named.filter((one) => one.tone === tone),
  );
  return worst;
}
