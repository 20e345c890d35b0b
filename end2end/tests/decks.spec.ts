// Markdown to slides to files: what a handler leaves behind is on the job's page, and can be fetched.
import { readFile } from 'node:fs/promises';
import { TENANT, expect, test } from '../support/test';
import { JobPage, enqueueConvert, expectLive, expectSameDocument, mark, signIn } from '../support/pages';

test('a document is converted, exported and downloaded', async ({ people: _, serve, page, visit }) => {
  const server = await serve();
  await signIn(page, server.url);
  const converted = await enqueueConvert(page, server.url);
  await converted.shows(/completed/i);
  const source = converted.number;
  await expect(page.getByRole('link', { name: 'Download deck.json' })).toBeVisible();

  await page.goto(`${server.url}/t/${TENANT.slug}/jobs/new?definition=decks.export`);
  await page.locator('form.new-job').getByLabel('Source job').fill(String(source));
  await page.getByRole('button', { name: 'Run job' }).click();
  const exported = new JobPage(page);
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
  const job = await enqueueConvert(page, server.url);
  await job.shows(/queued/i);
  await expect(page.getByRole('heading', { name: 'Files' })).toHaveCount(0);
  await expectLive(page);
  await mark(page);
  await work();
  await job.shows(/completed/i);
  await expect(page.getByRole('heading', { name: 'Files' })).toBeVisible();
  await expectSameDocument(page);
});
