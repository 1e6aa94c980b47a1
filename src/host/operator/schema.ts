import { type Static, Type } from '@sinclair/typebox';
import { CAPACITY_SETTINGS, type CapacitySetting } from '../../platform/concurrency/capacity.ts';
import { flagField, instantField, oneOfField, textField } from '../../platform/http/fields.ts';

const numberRecord = (description: string) => Type.Record(Type.String(), Type.Number(), { description });

const Verdict = Type.Object(
  {
    tone: oneOfField(['good', 'warn', 'bad'], '`bad`: calls fail; `warn`: calls are slow.'),
    sentence: Type.String(),
    fix: Type.Optional(
      Type.Object(
        { setting: Type.Unsafe<CapacitySetting>(Type.String()), value: Type.Integer() },
        { description: 'The change of a setting that fixes it while the service runs.' },
      ),
    ),
  },
  { title: 'OperatorVerdict' },
);
/** The state of a host in one sentence for its operator, with the remedy. */
export type HostVerdict = Static<typeof Verdict>;

const Pool = Type.Object(
  {
    threads: Type.Integer(),
    busy: Type.Integer(),
    queued: Type.Integer(),
    waitMs: Type.Optional(Type.Number({ description: 'The mean wait of the latest tasks.' })),
  },
  { title: 'OperatorPool' },
);

const Process = Type.Object(
  {
    name: textField('The host and the process: `HOST/PROCESS`.'),
    pid: Type.Integer(),
    state: oneOfField(['serving', 'starting', 'silent'], '`silent`: the process has not answered in time.'),
    silentMs: Type.Integer({ description: 'Milliseconds since the last heartbeat of the process.' }),
    uptimeSeconds: Type.Integer(),
    rssBytes: Type.Optional(Type.Integer()),
    logLevel: Type.Optional(Type.String()),
    clockDifferenceMs: Type.Optional(Type.Integer()),
    pools: Type.Optional(
      Type.Record(Type.String(), Pool, { description: 'By pool: image, slow, heavy, batch, render.' }),
    ),
  },
  { title: 'OperatorProcess' },
);

/** An action of an operator, or the restart of a process. */
type HistoryMarkKind = 'set' | 'drain' | 'log' | 'reload' | 'restart';

const History = Type.Object(
  {
    at: Type.Array(Type.Integer({ description: 'Epoch milliseconds.' })),
    series: Type.Record(Type.String(), Type.Array(Type.Union([Type.Number(), Type.Null()])), {
      description:
        'A value for each instant. `rate`: answers per second; `p50`, `p99` and the parts of the mean answer `waitMs`, `uploadMs`, `pixelsMs`, `storeMs`; `providerMs`: the mean time of a model call; `items` of jobs and `webhooks` in hand; `refused/{reason}` per second; `cpu/{role}` in cores; `memory/{role}` in bytes.',
    }),
    marks: Type.Array(
      Type.Object({
        at: Type.Integer({ description: 'Epoch milliseconds.' }),
        kind: Type.Unsafe<HistoryMarkKind>(
          Type.String({ enum: ['set', 'drain', 'log', 'reload', 'restart'] satisfies HistoryMarkKind[] }),
        ),
        by: textField('Who did it; empty if it happened by itself.'),
        text: Type.String(),
      }),
      { description: 'What was done to the host, and what happened to it.' },
    ),
  },
  { title: 'OperatorHistory', description: 'The last hour: a sample every 10 s.' },
);

const Host = Type.Object(
  {
    hostId: Type.String(),
    cores: Type.Number(),
    memoryLimitBytes: Type.Integer(),
    settings: numberRecord('The settings that `setOperatorSetting` changes.'),
    restarts: numberRecord('Processes that were replaced, by reason.'),
    cpuByRole: numberRecord('Cores in use, by the role of the process.'),
    memoryByRole: numberRecord('Bytes, by the role of the process.'),
    countByRole: numberRecord('Processes, by their role.'),
    verdicts: Type.Array(Verdict, {
      description: 'The verdicts on the last half minute, the most serious first.',
    }),
    processes: Type.Array(Process),
    history: History,
  },
  { title: 'OperatorHost' },
);

export const OperatorState = Type.Object(
  {
    at: instantField('When the hosts were asked for this state.'),
    verdict: Verdict,
    hosts: Type.Array(Host),
  },
  { title: 'OperatorState' },
);
export type OperatorState = Static<typeof OperatorState>;
export type OperatorHost = Static<typeof Host>;
export type OperatorHistory = Static<typeof History>;
export type OperatorProcess = Static<typeof Process>;

export const OperatorStateQuery = Type.Object({
  after: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: 'Epoch milliseconds. The history then contains only later samples and marks.',
    }),
  ),
});
export type OperatorStateQuery = Static<typeof OperatorStateQuery>;

export const OperatorSessionBody = Type.Object(
  {
    token: Type.Optional(
      Type.String({ maxLength: 300, description: 'The token of the operator: the setting OPERATOR_TOKEN.' }),
    ),
    link: Type.Optional(Type.String({ maxLength: 100, description: 'The secret of a one-time link.' })),
  },
  {
    title: 'OperatorSessionRequest',
    additionalProperties: false,
    examples: [{ token: 'the value of OPERATOR_TOKEN' }],
  },
);
export type OperatorSessionBody = Static<typeof OperatorSessionBody>;

export const SettingChangeBody = Type.Object(
  {
    setting: Type.String({ enum: [...CAPACITY_SETTINGS] }),
    value: Type.Integer({
      description: 'The new value. config/settings.md lists the bounds of each setting.',
    }),
    save: Type.Optional(flagField('Also writes it to the settings file, so that it lasts.')),
    yes: Type.Optional(flagField('Needed for more than 4 threads or processes per core.')),
  },
  {
    title: 'OperatorSettingRequest',
    additionalProperties: false,
    examples: [{ setting: 'IMAGE_QUEUE', value: 64 }],
  },
);
export type SettingChangeBody = Static<typeof SettingChangeBody>;

export const DrainBody = Type.Object(
  {
    process: Type.String({
      maxLength: 100,
      description: 'The name of the process in the state: `HOST/PROCESS`.',
    }),
  },
  { title: 'OperatorDrainRequest', additionalProperties: false, examples: [{ process: 'example-host/1' }] },
);
export type DrainBody = Static<typeof DrainBody>;

export const LogLevelBody = Type.Object(
  {
    level: Type.String({ maxLength: 20, description: 'A level that the setting LOG_LEVEL accepts.' }),
    for: Type.Optional(
      Type.String({ maxLength: 10, description: 'How long the level applies, such as 10m.' }),
    ),
  },
  {
    title: 'OperatorLogLevelRequest',
    additionalProperties: false,
    examples: [{ level: 'debug', for: '10m' }],
  },
);
export type LogLevelBody = Static<typeof LogLevelBody>;

export const OperatorCommandResult = Type.Object(
  { lines: Type.Array(Type.String(), { description: 'One line per process: its answer.' }) },
  { title: 'OperatorActResult' },
);

export const DoctorFindingsQuery = Type.Object({
  fresh: Type.Optional(flagField('Examines the host again, if the last examination is older than 10 s.')),
});
export type DoctorFindingsQuery = Static<typeof DoctorFindingsQuery>;

export const DoctorFindings = Type.Object(
  {
    at: instantField('When the host was examined.'),
    isWell: flagField('Whether there is no problem.'),
    findings: Type.Array(
      Type.Object(
        {
          part: textField('The examined part, such as `disk`.'),
          state: Type.String({ enum: ['ok', 'warning', 'problem'] }),
          message: Type.String(),
          remedy: Type.Union([Type.String(), Type.Null()]),
          settings: Type.Array(Type.String(), { description: 'The settings that the remedy names.' }),
        },
        { title: 'OperatorFinding' },
      ),
    ),
  },
  { title: 'OperatorFindings', description: 'What `npm run doctor` says of the host that answers.' },
);
export type DoctorFindings = Static<typeof DoctorFindings>;

export const BenchRunsQuery = Type.Object({
  kind: Type.Optional(
    Type.String({
      maxLength: 30,
      description: 'The kind of the report: load, comparison, capacity, tune or table.',
    }),
  ),
  suite: Type.Optional(Type.String({ maxLength: 100 })),
  search: Type.Optional(
    Type.String({ maxLength: 100, description: 'Text that the name, the command or the commit contains.' }),
  ),
});
export type BenchRunsQuery = Static<typeof BenchRunsQuery>;

export const BenchRun = Type.Object(
  {
    name: textField('The name of the file.'),
    kind: textField('The kind of the report: load, comparison, capacity, tune or table.'),
    suite: Type.String(),
    at: instantField('When it ended.'),
    bytes: Type.Integer(),
    command: Type.Union([Type.String(), Type.Null()], {
      description: 'The command line that repeats the run.',
    }),
    commit: Type.Union([Type.String(), Type.Null()]),
    headline: Type.Union([Type.String(), Type.Null()], {
      description: 'The result in one sentence, if the report has one.',
    }),
  },
  { title: 'OperatorRun' },
);
export type BenchRun = Static<typeof BenchRun>;

export const BenchRuns = Type.Object(
  {
    folder: textField('The folder of the reports: the setting RESULTS_DIR.'),
    runs: Type.Array(BenchRun, { description: 'At most 500 reports, the newest first.' }),
    total: Type.Integer({ description: 'The number of reports that match.' }),
  },
  { title: 'OperatorRuns' },
);

export const OperatorReport = Type.Object(
  {},
  { title: 'OperatorReport', additionalProperties: true, description: 'Its fields depend on its kind.' },
);

export const BenchRunParams = Type.Object({
  name: Type.String({ maxLength: 255, description: 'The name of the file in the list.' }),
});
export type BenchRunParams = Static<typeof BenchRunParams>;
