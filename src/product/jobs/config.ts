import { integerSetting } from '../../platform/setting.ts';

export const jobsSettings = {
  JOB_ITEMS: integerSetting({
    description:
      'Items of jobs that each API process has in hand at most, of each kind of work (small jobs, large jobs, renders, models). As a rule it has a few more than it works on at once; a lower number slows jobs down and leaves the stores to calls.',
    fallback: 1_000,
    min: 1,
    max: 1_000,
  }),
  JOB_DOCUMENTS_MEGABYTES: integerSetting({
    description:
      'Megabytes that the jobs of one account may keep until they expire: their parameters, steps and rows, and 512 bytes per item. Jobs of less than 16 KB are not counted.',
    fallback: 1_024,
    min: 1,
    max: 1_048_576,
  }),
};
