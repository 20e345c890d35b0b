// Every page of the dashboard, each in a state worth looking at.
import type { Page } from '@playwright/test';
import { TENANT } from './test';
import { type Leasehold } from './leasehold';
import { enqueueConvert, enqueueImport, signIn } from './pages';

export type Stop = { name: string; path: string };

/** Signs in and makes two finished jobs, one that kept failing and one running. Returns the pages to look at. */
export async function prepareTour(page: Page, server: Leasehold): Promise<Stop[]> {
  await signIn(page, server.url);
  const done = await enqueueImport(page, server.url, { seconds: 1, rows: 50 });
  await done.shows(/completed/i);
  const finished = done.number;
  const converted = await enqueueConvert(page, server.url);
  await converted.shows(/completed/i);
  const withFiles = converted.number;
  const broken = await enqueueImport(page, server.url, { seconds: 1, rows: 50, failAt: 'connecting' });
  await broken.shows(/quarantined|dead letter/i, 60_000);
  const failed = broken.number;
  const running = await enqueueImport(page, server.url, { seconds: 300, rows: 50 });
  await running.shows(/running/i);
  const home = `/t/${TENANT.slug}`;
  return [
    { name: 'overview', path: home },
    { name: 'jobs', path: `${home}/jobs` },
    { name: 'no jobs match', path: `${home}/jobs?status=cancelled` },
    { name: 'choose a job', path: `${home}/jobs/new` },
    { name: 'new job', path: `${home}/jobs/new?definition=demo-import` },
    { name: 'a job with a long text', path: `${home}/jobs/new?definition=decks.convert` },
    { name: 'finished job', path: `${home}/jobs/${finished}` },
    { name: 'job that kept failing', path: `${home}/jobs/${failed}` },
    { name: 'job with files', path: `${home}/jobs/${withFiles}` },
    { name: 'running job', path: `${home}/jobs/${running.number}` },
    { name: 'settings', path: `${home}/settings` },
    { name: 'audit log of the tenant', path: `${home}/settings/audit` },
    { name: 'account', path: '/account' },
    { name: 'all tenants', path: '/admin/tenants' },
    { name: 'users', path: '/admin/users' },
    { name: 'audit log', path: '/admin/audit' },
    { name: 'tenants', path: '/tenants' },
    { name: 'workers', path: '/admin/workers' },
    { name: 'the API', path: '/api/docs' },
    { name: 'not found', path: `${home}/nowhere` },
  ];
}
