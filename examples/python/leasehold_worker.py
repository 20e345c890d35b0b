#!/usr/bin/env python3
"""A worker for Leasehold in Python, with the standard library only.

    LEASEHOLD_URL=http://127.0.0.1:3000 LEASEHOLD_API_KEY=lh_... python3 leasehold_worker.py

It takes jobs of every kind that is run over HTTP, works on one at a time and stops on SIGTERM or Ctrl-C. Put your own
work into `handle`; everything below it can stay as it is.
"""

import base64
import http.client
import json
import os
import signal
import socket
import sys
import threading
import time
import traceback
import urllib.error
import urllib.parse
import urllib.request
import uuid

LEASE_SECONDS = 30
RENEW_EVERY = 8  # Well before the lease ends, with time to try again.
WAIT_SECONDS = 20
LONGEST_PAUSE = 30


def handle(job):
    """The work. Return the result as something JSON can hold, or raise JobFailed."""
    payload = job.payload
    if payload.get("fail"):
        raise JobFailed("told_to_fail", str(payload["fail"]), retryable=False)
    steps = int(payload.get("steps", 3))
    # An attempt after a crash goes on where the checkpoint stands.
    done = int((job.checkpoint or {}).get("done", 0))
    for step in range(done + 1, steps + 1):
        job.raise_if_stopped()
        job.log(f"step {step} of {steps}")
        job.progress(percent=100 * step / steps, message=f"{step} of {steps} done")
        job.sleep(float(payload.get("seconds_per_step", 0.2)))
        job.save_checkpoint({"done": step})
    job.attach("report.txt", f"{steps} steps done\n".encode(), "text/plain")
    return {"steps": steps, "attempt": job.attempt}


class JobFailed(Exception):
    """The job failed; `retryable=None` leaves it to the server whether to try again."""

    def __init__(self, code, message, retryable=None, error_class=None, retry_after=None):
        super().__init__(message)
        self.code, self.retryable = code, retryable
        self.error_class, self.retry_after = error_class, retry_after


class Stopped(Exception):
    """Somebody cancelled the job, its time is up, its lease is lost, or the worker ends."""


class Refused(Exception):
    """The server understood the request and said no."""

    def __init__(self, status, problem):
        super().__init__(f"{status} {problem.get('code')}: {problem.get('detail')}")
        self.status = status


class Server:
    def __init__(self, url, key):
        self.base = url.rstrip("/") + "/api/v1/worker/jobs"
        self.key = key

    def post(self, path, body, timeout=15):
        headers = {"Content-Type": "application/json", "X-API-KEY": self.key}
        return self._send(
            urllib.request.Request(f"{self.base}/{path}", json.dumps(body).encode(), headers, method="POST"), timeout
        )

    def get(self, path, query, timeout=15):
        address = f"{self.base}/{path}?{urllib.parse.urlencode(query)}"
        return self._send(urllib.request.Request(address, headers={"X-API-KEY": self.key}), timeout)

    def _send(self, request, timeout):
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code >= 500 or error.code in (408, 429):
                raise ConnectionError(f"the server answered {error.code}") from error
            try:
                problem = json.load(error)
            except ValueError:
                problem = {}
            raise Refused(error.code, problem) from error
        except (http.client.HTTPException, ValueError) as error:
            raise ConnectionError(f"the answer cannot be read: {error}") from error


class Job:
    """One job in this worker's hands. The lease is kept by a thread of its own."""

    def __init__(self, server, worker_id, claimed, ending):
        self.server, self.ending = server, ending
        self.number, self.payload, self.attempt = claimed["number"], claimed["payload"], claimed["attempt"]
        self.checkpoint = claimed.get("checkpoint")
        self.lease = {"worker_id": worker_id, "lease_id": claimed["lease_id"]}
        self.cancelled, self.lost, self.over = threading.Event(), threading.Event(), threading.Event()
        self.lease_ends = time.monotonic() + LEASE_SECONDS
        limit = claimed.get("timeout_seconds")
        self.deadline = time.monotonic() + limit if limit else float("inf")
        self.lines = 0
        self.keeper = threading.Thread(target=self._keep, daemon=True)
        self.keeper.start()

    # ---- for the handler

    def log(self, text):
        self.lines += 1
        # The number makes it safe to send the same line again.
        self._tell("logs", {"lines": [{"seq": self.lines, "text": text}]})

    def progress(self, stage=None, percent=None, message=None):
        report = {"stage": stage, "percent": percent, "message": message}
        held = self._tell("progress", {k: v for k, v in report.items() if v is not None})
        if held and held["cancel_requested"]:
            self.cancelled.set()

    def save_checkpoint(self, value):
        """How far the work is; the next attempt finds it in job.checkpoint."""
        self._keep_durably("checkpoint", {"checkpoint": value})

    def attach(self, name, content, content_type="application/octet-stream"):
        """Keeps a file with the job; one of the same name is replaced."""
        body = {"name": name, "content_type": content_type, "base64": base64.b64encode(content).decode()}
        return self._keep_durably("attachments", body)

    def attachments(self):
        """The files kept with the job so far: dicts with name, size, sha256 and url."""
        try:
            return self.server.get(f"{self.number}/attachments", self.lease)["attachments"]
        except Refused as refused:
            if refused.status in (404, 409):
                self.lost.set()
                raise Stopped() from refused
            raise

    def sleep(self, seconds):
        """Like time.sleep, but ends when the job must."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.raise_if_stopped()
            time.sleep(min(0.1, max(0, until - time.monotonic())))

    def raise_if_stopped(self):
        if self.is_late():
            raise JobFailed("timeout", "It took longer than it may.", error_class="timeout")
        if self.lost.is_set() or self.cancelled.is_set() or self.ending.is_set():
            raise Stopped()

    def is_late(self):
        return time.monotonic() >= self.deadline

    # ---- for the worker

    def complete(self, result):
        self._report("complete", {"result": result})

    def fail(self, error, stack=None):
        body = {
            "error_code": error.code,
            "message": str(error),
            "stack": stack,
            "error_class": error.error_class,
            "retryable": error.retryable,
            "retry_after": error.retry_after,
        }
        self._report("fail", {k: v for k, v in body.items() if v is not None})

    def acknowledge_cancel(self):
        self._report("cancelled", {})

    def release(self):
        self._report("release", {}, token=False)

    def close(self):
        self.over.set()
        self.keeper.join()

    def _report(self, what, body, token=True):
        """Sends the end of the job until it is heard: with the same token, twice does no harm."""
        if token:
            body["completion_token"] = self.lease["lease_id"]
        give_up = time.monotonic() + 2 * LEASE_SECONDS
        pause = 0.2
        while not self.lost.is_set():
            try:
                return self.server.post(f"{self.number}/{what}", {**self.lease, **body})
            except Refused as refused:
                if refused.status in (404, 409):
                    self.lost.set()
                    break
                if what != "complete":
                    raise
                # This result is not wanted, and would not be after another attempt.
                return self.fail(JobFailed("result_refused", str(refused), retryable=False))
            except OSError as error:
                if time.monotonic() > give_up:
                    break
                say(f"#{self.number}: not delivered yet: {error}")
                time.sleep(pause)
                pause = min(2, pause * 2)
        say(f"#{self.number}: the lease is lost, the result is dropped")

    def _keep_durably(self, what, body):
        """What is to outlive the attempt must be heard, or the job fails and tries again."""
        try:
            return self.server.post(f"{self.number}/{what}", {**self.lease, **body}, timeout=60)
        except Refused as refused:
            if refused.status in (404, 409):
                self.lost.set()
                raise Stopped() from refused
            raise JobFailed("not_kept", str(refused), retryable=False) from refused

    def _tell(self, what, body):
        """Progress and log lines are worth one try. A lost lease is worth knowing."""
        if self.lost.is_set():
            return None
        try:
            return self.server.post(f"{self.number}/{what}", {**self.lease, **body})
        except Refused as refused:
            if refused.status in (404, 409):
                self.lost.set()
            else:
                say(f"#{self.number}: {refused}")
        except OSError as error:
            say(f"#{self.number}: {error}")
        return None

    def _keep(self):
        wait = RENEW_EVERY
        while not self.over.wait(wait):
            asked = time.monotonic()
            try:
                body = {**self.lease, "lease_seconds": LEASE_SECONDS}
                held = self.server.post(f"{self.number}/heartbeat", body, timeout=5)
                self.lease_ends, wait = asked + LEASE_SECONDS, RENEW_EVERY
                if held["cancel_requested"]:
                    self.cancelled.set()
            except Refused as refused:
                say(f"#{self.number}: {refused}")
                self.lost.set()
                return
            except OSError as error:
                say(f"#{self.number}: not renewed yet: {error}")
                wait = 1
            if time.monotonic() >= self.lease_ends:
                # Somebody else may have it by now, even if nobody could tell us.
                self.lost.set()
                return


def say(text):
    print(text, file=sys.stderr, flush=True)


def work_on(job):
    try:
        job.complete(handle(job))
    except JobFailed as failed:
        job.fail(failed)
    except Stopped:
        if job.cancelled.is_set():
            job.acknowledge_cancel()
        else:
            job.release()
    except Exception as error:  # A bug in the handler is a failed job, not the end of the worker.
        job.fail(JobFailed(type(error).__name__, str(error), retry_after=10), stack=traceback.format_exc())
    finally:
        job.close()


def main():
    try:
        server = Server(os.environ["LEASEHOLD_URL"], os.environ["LEASEHOLD_API_KEY"])
    except KeyError as missing:
        sys.exit(f"Please set {missing.args[0]}.")
    worker_id = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex}"
    ending = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ending.set())
    say(f"{worker_id} asks {server.base} for jobs")
    pause = 0
    while not ending.wait(pause):
        asked = time.monotonic()
        try:
            claimed = claim(server, worker_id, ending)
        except Refused as refused:
            sys.exit(f"The server refuses: {refused}")
        except OSError as error:
            say(f"no answer: {error}")
            claimed = []
        for job in claimed:
            say(f"#{job['number']}: {job['domain']}/{job['job_type']}, attempt {job['attempt']}")
            work_on(Job(server, worker_id, job, ending))
        # A claim that waited at the server was pause enough.
        idle = not claimed and time.monotonic() - asked < WAIT_SECONDS / 2
        pause = min(LONGEST_PAUSE, max(2, pause * 2)) if idle else 0
    say("ended")


def claim(server, worker_id, ending):
    """Asks in a thread, so that a signal does not have to wait for the answer."""
    answer = []

    def ask():
        body = {"worker_id": worker_id, "limit": 1, "lease_seconds": LEASE_SECONDS, "wait_seconds": WAIT_SECONDS}
        try:
            answer.append(server.post("claim", body, timeout=WAIT_SECONDS + 15)["jobs"])
        except Exception as error:
            answer.append(error)

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    while asking.is_alive() and not ending.is_set():
        asking.join(0.2)
    if not answer:
        # The process ends; the server notices the closed connection and keeps the job for somebody else.
        return []
    if isinstance(answer[0], Exception):
        raise answer[0]
    return answer[0]


if __name__ == "__main__":
    main()
