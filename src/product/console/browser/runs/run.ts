/** A report in the list of `GET /operator/v1/runs`: see src/host/operator/schema.ts. */
export interface Run {
  name: string;
  kind: string;
  suite: string;
  at: string;
  bytes: number;
  command: string | null;
  commit: string | null;
  headline: string | null;
}

export interface Runs {
  folder: string;
  runs: readonly Run[];
  total: number;
}
