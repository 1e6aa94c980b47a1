import { sendJobSignal } from '../../product/jobs/engine/signals.ts';
import { ItemsStore } from '../../product/jobs/items-store.ts';
import { JobsStore } from '../../product/jobs/store.ts';
import { JOB_TRANSITIONS } from '../../product/jobs/transitions.ts';
import { type AdminCommand, CommandUsageError, formatList } from './command.ts';

const MAX_LISTED_JOBS = 1_000;

export const JOB_COMMANDS: readonly AdminCommand[] = [
  {
    name: 'jobs list',
    about: 'Lists the jobs that run or wait, oldest first, with their progress.',
    options: { account: 'ACCOUNT' },
    async run({ options }, { documents, now }) {
      const store = new JobsStore(documents, now);
      const unfinished = await store.findUnfinished(MAX_LISTED_JOBS);
      const jobs = unfinished
        .filter(({ accountId }) => options.account === undefined || accountId === options.account)
        .map(({ _id: id, accountId, status, type, op, totalItems, settledItems, createdAt }) => {
          return { id, accountId, status, type, op, totalItems, settledItems, createdAt };
        });
      const lines = jobs.map(
        ({ id, accountId, status, type, op, totalItems, settledItems, createdAt }) =>
          `${id}  ${accountId}  ${status}  ${op ?? type}  ${settledItems} of ${totalItems} items  since ${createdAt}`,
      );
      return { data: { jobs }, text: formatList(lines, 'No job runs or waits.') };
    },
  },
  {
    name: 'jobs cancel',
    about: 'Cancels a job of any account: waiting items are stopped, running items finish.',
    takes: ['JOB'],
    async run({ words: [jobId = ''] }, { documents, coordination, now }) {
      const store = new JobsStore(documents, now);
      const job = await store.get(jobId);
      if (job === null || job.shown === 0) throw new CommandUsageError(`There is no job ${jobId}.`);
      const cancelling = await store.move(jobId, JOB_TRANSITIONS.cancel);
      if (cancelling === null)
        throw new CommandUsageError(`The job ${jobId} is ${job.status}: it cannot be cancelled.`);
      sendJobSignal({ coordination, log: console }, 'stop', jobId);
      await new ItemsStore(documents, now).cancelWaiting(jobId);
      return {
        data: { jobId, status: cancelling.status },
        text: `${jobId} is being cancelled; it ends when the items that run have ended, at the latest with the next sweep.`,
      };
    },
  },
];
