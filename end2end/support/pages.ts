// What people see and do, by role and label: a test that reads these names reads the page as its users do.
import { type Locator, type Page, expect } from '@playwright/test';
import { ADMIN, TENANT } from './test';

export type ImportOptions = { seconds?: number; rows?: number; failAt?: string };

export class LoginPage {
  constructor(private readonly page: Page) {}

  get email(): Locator {
    return this.page.getByLabel('E-mail');
  }

  get password(): Locator {
    return this.page.getByLabel('Password');
  }

  get problem(): Locator {
    return this.page.getByRole('alert');
  }

  async open(url: string): Promise<void> {
    await this.page.goto(`${url}/login`);
  }

  async submit(email: string, password: string): Promise<void> {
    await this.email.fill(email);
    await this.password.fill(password);
    await this.page.getByRole('button', { name: 'Sign in' }).click();
  }
}

/** Signs the administrator in and lands on the tenant's overview. */
export async function signIn(page: Page, url: string): Promise<void> {
  const login = new LoginPage(page);
  await page.goto(`${url}/login?next=/t/${TENANT.slug}`);
  await login.submit(ADMIN.email, ADMIN.password);
  await expect(page.getByRole('heading', { level: 1, name: /overview/i })).toBeVisible();
}

export class SetupPage {
  constructor(private readonly page: Page) {}

  get name(): Locator {
    return this.page.getByLabel('Your name');
  }

  get email(): Locator {
    return this.page.getByLabel('E-mail');
  }

  get password(): Locator {
    return this.page.getByLabel('Password');
  }

  get tenant(): Locator {
    return this.page.getByLabel('Tenant name');
  }

  get problem(): Locator {
    return this.page.getByRole('alert');
  }

  async fill(password = ADMIN.password): Promise<void> {
    await this.name.fill(ADMIN.name);
    await this.email.fill(ADMIN.email);
    await this.password.fill(password);
    await this.tenant.fill(TENANT.name);
  }

  async submit(): Promise<void> {
    await this.page.getByRole('button', { name: 'Create account' }).click();
  }
}

export class NewJobPage {
  constructor(private readonly page: Page) {}

  async open(url: string): Promise<void> {
    await this.page.goto(`${url}/t/${TENANT.slug}/jobs/new`);
  }

  async choose(definition: string): Promise<void> {
    await this.page.getByRole('link', { name: new RegExp(definition, 'i') }).click();
    await expect(this.field('Duration')).toBeVisible();
  }

  field(label: string): Locator {
    return this.page.locator('form.new-job').getByLabel(label);
  }

  async submit(): Promise<void> {
    await this.page.getByRole('button', { name: 'Run job' }).click();
  }
}

/** Enqueues the demo import through the form and lands on the job's page. */
export async function enqueueImport(page: Page, url: string, options: ImportOptions = {}): Promise<JobPage> {
  const form = new NewJobPage(page);
  await form.open(url);
  await form.choose('demo-import');
  await form.field('Duration').fill(String(options.seconds ?? 4));
  await form.field('Rows').fill(String(options.rows ?? 400));
  if (options.failAt) await form.field('Fail at').selectOption(options.failAt);
  await form.submit();
  await expect(page).toHaveURL(/\/jobs\/\d+$/);
  return new JobPage(page);
}

/** Has a small document made into slides, and lands on the job's page. */
export async function enqueueConvert(page: Page, url: string): Promise<JobPage> {
  await page.goto(`${url}/t/${TENANT.slug}/jobs/new?definition=decks.convert`);
  const markdown = '# Harbour lights\n\n## Why we count\n\n- 1,240 lamps\n- eleven kilometres\n';
  await page.locator('form.new-job').getByLabel('Markdown').fill(markdown);
  await page.getByRole('button', { name: 'Run job' }).click();
  await expect(page).toHaveURL(/\/jobs\/\d+$/);
  return new JobPage(page);
}

export class JobPage {
  constructor(readonly page: Page) {}

  /** The state, as the heading's badge says it. */
  get badge(): Locator {
    return this.page.getByTestId('state');
  }

  get progress(): Locator {
    return this.page.getByRole('progressbar', { name: 'Progress' });
  }

  get logs(): Locator {
    return this.page.getByRole('region', { name: /^Log of attempt/ });
  }

  get number(): number {
    return Number(/\/jobs\/(\d+)/.exec(this.page.url())?.[1]);
  }

  async percent(): Promise<number> {
    return Number(await this.progress.first().getAttribute('value'));
  }

  async cancel(reason: string): Promise<void> {
    await this.page.locator('summary', { hasText: 'Cancel…' }).click();
    await this.page.getByLabel('Reason').fill(reason);
    await this.page.getByRole('button', { name: 'Cancel this job' }).click();
  }

  async shows(state: RegExp, timeout = 30_000): Promise<void> {
    await expect(this.badge).toHaveText(state, { timeout });
  }
}

/** Marks the document, to prove later that it was never loaded again. */
export async function mark(page: Page): Promise<void> {
  await page.evaluate(() => document.documentElement.setAttribute('data-end2end', 'same document'));
}

export async function expectSameDocument(page: Page): Promise<void> {
  await expect(page.locator('html')).toHaveAttribute('data-end2end', 'same document');
}

/** The light in the page's heading says that events arrive. */
export async function expectLive(page: Page): Promise<void> {
  await expect(page.getByRole('status').filter({ hasText: 'Live' }).first()).toBeVisible();
}
