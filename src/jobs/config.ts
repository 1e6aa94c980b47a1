import { integer } from '../../config/setting.ts';

export const jobsSettings = {
  JOB_DOCUMENTS_MEGABYTES: integer({
    description:
      'Megabytes that the jobs of one account may keep of parameters, steps and rows until they expire; jobs of less than 16 KB are not counted.',
    fallback: 512,
    min: 1,
    max: 1_048_576,
  }),
};
