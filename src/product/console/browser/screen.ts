import type { FunctionComponent } from 'preact';

export interface ScreenProps {
  /** The path below the screen's own: '' or, such as for `/console/jobs/job_1`, `job_1`. */
  rest: string;
}

/** A screen in the menu. */
export interface ListedScreen {
  /** Its address, which is also the beginning of the addresses of what it shows. */
  path: string;
  title: string;
  group: 'Make' | 'Work' | 'Account' | 'Operate';
  /** Who sees it; left out: whoever is signed in to an account. */
  for?: 'operator';
  load: () => Promise<{ Screen: FunctionComponent<ScreenProps> }>;
}
