import { integer } from '../../platform/setting.ts';

export const jobsSettings = {
  JOB_DOCUMENTS_MEGABYTES: integer({
    description:
      'Megabytes that the jobs of one account may keep until they expire: their parameters, steps and rows, and 512 bytes per item. Jobs of less than 16 KB are not counted.',
    fallback: 1_024,
    min: 1,
    max: 1_048_576,
  }),
};
