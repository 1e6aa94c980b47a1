import type { Settings } from '../../../config/index.ts';
import { connectCoordination } from '../../platform/stores/open.ts';
import { askProcesses, type ControlAnswer } from '../processes/controls.ts';
import { judgeClock } from './answers.ts';
import { type Finding, ok, orProblem } from './finding.ts';

/** Examines the clocks of all hosts with the same Redis, as measured by their processes. */
export async function lookAtHosts({ stores }: Settings): Promise<Finding[]> {
  if (stores.REDIS_URL === '') return [ok('The stores are embedded: there are no other hosts.')];
  return orProblem(
    async () => {
      const coordination = await connectCoordination(stores);
      try {
        return judgeHosts(await askProcesses(coordination, { kind: 'pools' }));
      } finally {
        await coordination.close();
      }
    },
    (reason) => `The hosts could not be asked: ${reason}.`,
    'Check REDIS_URL, its password, and that the network lets this host through.',
  );
}

/** One finding per host, from its process with the largest difference. */
function judgeHosts(answers: readonly ControlAnswer[]): Finding[] {
  const byHost = Map.groupBy(answers, ({ hostId }) => hostId);
  const findings = Array.from(byHost).flatMap(([hostId, processes]) => {
    const measured = processes.flatMap(({ data }) =>
      typeof data?.clockDifferenceMs === 'number' ? [Math.abs(data.clockDifferenceMs)] : [],
    );
    return measured.length === 0 ? [] : [judgeClock('Redis', Math.max(...measured), 0, `host ${hostId}`)];
  });
  return findings.length > 0 ? findings : [ok('No process of the service runs on this Redis.')];
}
