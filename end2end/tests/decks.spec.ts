// Markdown to slides to files: what a handler leaves behind is on the job's page, and can be fetched.
import { readFile } from 'node:fs/promises';
import { TENANT, expect, test } from '../support/test';
import { JobPage, expectLive, expectSameDocument, mark, signIn } from '../support/pages';
import type { Page } from '@playwright/test';

const MARKDOWN = '# Harbour lights\n\n## Why we count\n\n- 1,240 lamps\n- eleven kilometres\n';

async function open(page: Page, url: string, definition: string): Promise<void> {
  await page.goto(`${url}/t/${TENANT.slug}/jobs/new?definition=${definition}`);
}

async function run(page: Page): Promise<JobPage> {
  await page.getByRole('button', { name: 'Run job' }).click();
  await expect(page).toHaveURL(/\/jobs\/\d+$/);
  return new JobPage(page);
}

test('a document is converted, exported and downloaded', async ({ people: _, serve, page, visit }) => {
  const server = await serve();
  await signIn(page, server.url);
  await open(page, server.url, 'decks.convert');
  await page.locator('form.new-job').getByLabel('Markdown').fill(MARKDOWN);
  const converted = await run(page);
  await converted.shows(/completed/i);
  const source = converted.number;
  await expect(page.getByRole('link', { name: 'Download deck.json' })).toBeVisible();

  await open(page, server.url, 'decks.export');
  await page.locator('form.new-job').getByLabel('Source job').fill(String(source));
  const exported = await run(page);
  await exported.shows(/completed/i);
  expect(await exported.percent()).toBe(100);
  const link = page.getByRole('link', { name: 'Download harbour-lights.pdf' });
  const [download] = await Promise.all([page.waitForEvent('download'), link.click()]);
  expect(download.suggestedFilename()).toBe('harbour-lights.pdf');
  const bytes = await readFile(await download.path());
  expect(bytes.subarray(0, 5).toString()).toBe('%PDF-');

  // The link alone is enough, for as long as it works; changed by a digit it is worth nothing.
  const path = (await link.getAttribute('href')) ?? '';
  const stranger = await visit();
  expect((await stranger.request.get(server.url + path)).status()).toBe(200);
  expect((await stranger.request.get(server.url + path.replace(/expires=\d/, 'expires=9'))).status()).toBe(403);
});

test('files arrive on the page without a reload', async ({ people: _, serve, work, page }) => {
  const server = await serve({ arguments: ['--workers', '0'] });
  await signIn(page, server.url);
  await open(page, server.url, 'decks.convert');
  await page.locator('form.new-job').getByLabel('Markdown').fill(MARKDOWN);
  const job = await run(page);
  await job.shows(/queued/i);
  await expect(page.getByRole('heading', { name: 'Files' })).toHaveCount(0);
  await expectLive(page);
  await mark(page);
  await work();
  await job.shows(/completed/i);
  await expect(page.getByRole('heading', { name: 'Files' })).toBeVisible();
  await expectSameDocument(page);
});
