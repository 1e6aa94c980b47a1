/**
 * The types of the operator's interface, generated from the OpenAPI document of the service: npm run client:types.
 */

/** The calls of the operator, by their method and path. */
export interface OperatorCalls {
  'POST /session': { body: OperatorSessionRequest; data: undefined };
  'DELETE /session': { data: undefined };
  'GET /state': {
    query: {
      /** Epoch milliseconds. The history then contains only later samples and marks. */
      after?: number;
    };
    data: OperatorState;
  };
  'POST /settings': { body: OperatorSettingRequest; data: OperatorActResult };
  'POST /drains': { body: OperatorDrainRequest; data: OperatorActResult };
  'POST /log-level': { body: OperatorLogLevelRequest; data: OperatorActResult };
  'GET /findings': {
    query: {
      /** Examines the host again, if the last examination is older than 10 s. */
      fresh?: boolean;
    };
    data: OperatorFindings;
  };
  'GET /runs': {
    query: {
      /** The kind of the report: load, comparison, capacity, tune or table. */
      kind?: string;
      suite?: string;
      /** Text that the name, the command or the commit contains. */
      search?: string;
    };
    data: OperatorRuns;
  };
}

export interface OperatorActResult {
  /** One line per process: its answer. */
  lines: string[];
}

export interface OperatorDrainRequest {
  /** The name of the process in the state: `HOST/PROCESS`. */
  process: string;
}

export interface OperatorFinding {
  /** The examined part, such as `disk`. */
  part: string;
  state: "ok" | "warning" | "problem";
  message: string;
  remedy: string | null;
  /** The settings that the remedy names. */
  settings: string[];
}

export interface OperatorFindings {
  /** When the host was examined. */
  at: string;
  /** Whether there is no problem. */
  isWell: boolean;
  findings: OperatorFinding[];
}

export interface OperatorHistory {
  at: number[];
  /**
   * A value for each instant. `rate`: answers per second; `p50`, `p99` and the parts of the mean answer `waitMs`,
   * `uploadMs`, `pixelsMs`, `storeMs`; `providerMs`: the mean time of a model call; `items` of jobs and `webhooks`
   * in hand; `refused/{reason}` per second; `cpu/{role}` in cores; `memory/{role}` in bytes.
   */
  series: Record<string, (number | null)[]>;
  /** What was done to the host, and what happened to it. */
  marks: ({
    /** Epoch milliseconds. */
    at: number;
    kind: "set" | "drain" | "log" | "reload" | "restart";
    /** Who did it; empty if it happened by itself. */
    by: string;
    text: string;
  })[];
}

export interface OperatorHost {
  hostId: string;
  cores: number;
  memoryLimitBytes: number;
  /** The settings that `setOperatorSetting` changes. */
  settings: Record<string, number>;
  /** Processes that were replaced, by reason. */
  restarts: Record<string, number>;
  /** Cores in use, by the role of the process. */
  cpuByRole: Record<string, number>;
  /** Bytes, by the role of the process. */
  memoryByRole: Record<string, number>;
  /** Processes, by their role. */
  countByRole: Record<string, number>;
  /** The verdicts on the last half minute, the most serious first. */
  verdicts: OperatorVerdict[];
  processes: OperatorProcess[];
  history: OperatorHistory;
}

export interface OperatorLogLevelRequest {
  /** A level that the setting LOG_LEVEL accepts. */
  level: string;
  /** How long the level applies, such as 10m. */
  for?: string;
}

export interface OperatorPool {
  threads: number;
  busy: number;
  queued: number;
  /** The mean wait of the latest tasks. */
  waitMs?: number;
}

export interface OperatorProcess {
  /** The host and the process: `HOST/PROCESS`. */
  name: string;
  pid: number;
  /** `silent`: the process has not answered in time. */
  state: "serving" | "starting" | "silent";
  /** Milliseconds since the last heartbeat of the process. */
  silentMs: number;
  uptimeSeconds: number;
  rssBytes?: number;
  logLevel?: string;
  clockDifferenceMs?: number;
  /** By pool: image, slow, heavy, batch, render. */
  pools?: Record<string, OperatorPool>;
}

export interface OperatorRun {
  /** The name of the file. */
  name: string;
  /** The kind of the report: load, comparison, capacity, tune or table. */
  kind: string;
  suite: string;
  /** When it ended. */
  at: string;
  bytes: number;
  /** The command line that repeats the run. */
  command: string | null;
  commit: string | null;
  /** The result in one sentence, if the report has one. */
  headline: string | null;
}

export interface OperatorRuns {
  /** The folder of the reports: the setting RESULTS_DIR. */
  folder: string;
  /** At most 500 reports, the newest first. */
  runs: OperatorRun[];
  /** The number of reports that match. */
  total: number;
}

export interface OperatorSessionRequest {
  /** The token of the operator: the setting OPERATOR_TOKEN. */
  token?: string;
  /** The secret of a one-time link. */
  link?: string;
}

export interface OperatorSettingRequest {
  setting: "PROCESSES" | "IMAGE_THREADS" | "RENDER_THREADS" | "IMAGE_QUEUE" | "IMAGE_WAIT_MS" | "JOB_ITEMS" | "WEBHOOK_CONCURRENCY";
  /** The new value. config/settings.md lists the bounds of each setting. */
  value: number;
  /** Also writes it to the settings file, so that it lasts. */
  save?: boolean;
  /** Needed for more than 4 threads or processes per core. */
  yes?: boolean;
}

export interface OperatorState {
  /** When the hosts were asked for this state. */
  at: string;
  verdict: OperatorVerdict;
  hosts: OperatorHost[];
}

export interface OperatorVerdict {
  /** `bad`: calls fail; `warn`: calls are slow. */
  tone: "good" | "warn" | "bad";
  sentence: string;
  /** The change of a setting that fixes it while the service runs. */
  fix?: { setting: string; value: number };
}
