import { DEFAULT_ENV_FILE } from '../../../config/env-file.ts';
import { defaultProcessCount } from '../../platform/concurrency/control-group.ts';
import { integerSetting, pathSetting, textSetting } from '../../platform/setting.ts';

export const processesSettings = {
  PROCESSES: integerSetting({
    description: 'API processes, each with its own threads.',
    fallback: defaultProcessCount(),
    defaultText: 'one per core that is granted',
    min: 1,
    max: 256,
  }),
  DRAIN_TIMEOUT_MS: integerSetting({
    description: 'Time that calls in flight have to finish when a process is stopped or replaced.',
    fallback: 20_000,
    min: 0,
    max: 600_000,
  }),
  HANG_TIMEOUT_MS: integerSetting({
    description: 'Silence of an API process after which it is taken for hung, killed and replaced.',
    fallback: 15_000,
    min: 2_000,
    max: 3_600_000,
  }),
  ALLOCATOR: textSetting({
    description:
      "Memory allocator of the API processes and their workers: auto (jemalloc or mimalloc if the host has one), system, or the path of an allocator's shared library.",
    fallback: 'auto',
    pattern: /^(auto|system|\/.+)$/,
    accepts: 'auto, system or an absolute path is expected',
  }),
  ENV_FILE: pathSetting({
    description:
      'File of settings of this host: start, doctor and the operator\'s commands read it, tune and "set --save" write it. Only the environment names it, and what the environment sets wins over the file.',
    fallback: DEFAULT_ENV_FILE,
  }),
  SWEEP_INTERVAL_MS: integerSetting({
    description: 'Time between two rounds that clear away what has expired.',
    fallback: 15_000,
    min: 10,
    max: 3_600_000,
  }),
};
