// What goes wrong is said clearly, and nothing that was typed is lost, with and without script.
import { ADMIN, TENANT, expect, test } from '../support/test';
import { LoginPage, NewJobPage, SetupPage, signIn } from '../support/pages';

for (const javaScriptEnabled of [true, false]) {
  test.describe(javaScriptEnabled ? 'with script' : 'without script', () => {
    test.use({ javaScriptEnabled });

    test('a wrong password is refused, the e-mail stays', async ({ people: _, serve, page }) => {
      const server = await serve();
      const login = new LoginPage(page);
      await login.open(server.url);
      await login.submit(ADMIN.email, 'not the password');
      await expect(login.problem).toContainText(/password/i);
      await expect(login.email).toHaveValue(ADMIN.email);
      await expect(login.password).toHaveValue('');
      await login.submit(ADMIN.email, ADMIN.password);
      await expect(page).not.toHaveURL(/\/login/);
    });

    test('an unknown account is refused with the same words', async ({ people: _, serve, page }) => {
      const server = await serve();
      const login = new LoginPage(page);
      await login.open(server.url);
      await login.submit(ADMIN.email, 'not the password');
      const known = await login.problem.textContent();
      await login.submit('nobody@example.org', 'not the password');
      await expect(login.email).toHaveValue('nobody@example.org');
      await expect(login.problem).toHaveText(known ?? '');
    });

    test('an expired setup link says so and how to get a new one', async ({ serve, page, complaints }) => {
      complaints.allow(/Failed to load resource/);
      const server = await serve({ environment: { JOBS_SETUP_TTL_SECONDS: '1' } });
      const link = await server.setupLink();
      await expect(async () => {
        await page.goto(link);
        await expect(page.locator('main')).toContainText(/expired/i, { timeout: 500 });
      }).toPass();
      await expect(new SetupPage(page).password).toHaveCount(0);
    });

    test('a setup link works once', async ({ serve, page, visit, complaints }) => {
      complaints.allow(/Failed to load resource/);
      const server = await serve();
      const link = await server.setupLink();
      await page.goto(link);
      const setup = new SetupPage(page);
      await setup.fill();
      await setup.submit();
      await expect(page).toHaveURL(`${server.url}/t/${TENANT.slug}`);
      const other = await visit({ javaScriptEnabled });
      await other.goto(link);
      await expect(other.locator('main')).toContainText(/already set up/i);
      await expect(new SetupPage(other).password).toHaveCount(0);
    });

    test('an invalid payload is explained, the form keeps what was typed', async ({ people: _, serve, page }) => {
      const server = await serve();
      await signIn(page, server.url);
      const form = new NewJobPage(page);
      await form.open(server.url);
      await form.choose('demo-import');
      const json = form.field('Payload');
      await page.locator('summary', { hasText: 'As JSON' }).click();
      await json.fill('{"seconds": 0, "rows": 10, "colour": "red"}');
      await form.submit();
      await expect(page.getByRole('alert').first()).toBeVisible();
      await expect(page.locator('main')).toContainText(/seconds|colour/i);
      await expect(json).toHaveValue('{"seconds": 0, "rows": 10, "colour": "red"}');

      await json.fill('{"seconds": 1, "rows": ');
      await form.submit();
      await expect(page.locator('main')).toContainText(/not JSON/i);
      await expect(json).toHaveValue('{"seconds": 1, "rows": ');
    });
  });
}

// Only with script: without it nothing switches off the browser's own check, which keeps the form from the server.
test('a password that is too short is named at its field, the rest stays', async ({ serve, page }) => {
  const server = await serve();
  await page.goto(await server.setupLink());
  await page.evaluate(() => document.querySelectorAll('form').forEach((form) => (form.noValidate = true)));
  const setup = new SetupPage(page);
  await setup.fill('short');
  await setup.submit();
  await expect(setup.password).toHaveAttribute('aria-invalid', 'true');
  await expect(setup.name).toHaveValue(ADMIN.name);
  await expect(setup.email).toHaveValue(ADMIN.email);
  await expect(setup.tenant).toHaveValue(TENANT.name);
});
