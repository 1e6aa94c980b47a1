import type { FunctionComponent } from 'preact';

export interface ScreenProps {
  /** The path below the screen's own: '', or `job_1` for `/console/jobs/job_1`. */
  rest: string;
}

/** A screen in the menu. */
export interface ListedScreen {
  /** The address of the screen, with which the addresses of its contents also begin. */
  path: string;
  title: string;
  group: 'Make' | 'Work' | 'Account' | 'Operate';
  /** Who sees the screen. Absent: everybody who is signed in to an account. */
  for?: 'operator';
  load: () => Promise<{ Screen: FunctionComponent<ScreenProps> }>;
}
