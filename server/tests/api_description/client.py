"""Uses the client that was generated from the API's description: enqueue, list, read, cancel."""

import json
import os

from leasehold_client import Client
from leasehold_client.api.definitions import get_definition
from leasehold_client.api.jobs import cancel_job, enqueue_job, get_job, list_attempts, list_jobs
from leasehold_client.models import Cancel, JobStatus, NewJob, Problem

client = Client(
    base_url=os.environ["LEASEHOLD_URL"],
    headers={"X-API-KEY": os.environ["LEASEHOLD_API_KEY"]},
    raise_on_unexpected_status=True,
)

definition = get_definition.sync("steps", client=client)
made = enqueue_job.sync(client=client, body=NewJob(definition_key="steps", payload={"rows": 3}, priority=7))
listed = list_jobs.sync(client=client, status=[JobStatus.QUEUED], domain="media")
job = get_job.sync(str(made.number), client=client)
assert job.payload == {"rows": 3} and job.priority == 7, job
cancelled = cancel_job.sync(str(made.number), client=client, body=Cancel(reason="enough"))
attempts = list_attempts.sync(str(made.id), client=client)
refused = enqueue_job.sync(client=client, body=NewJob(definition_key="steps", priority=0))
missing = get_job.sync("999999", client=client)
assert isinstance(refused, Problem) and isinstance(missing, Problem), (refused, missing)

print(
    json.dumps(
        {
            "number": made.number,
            "created": made.created,
            "listed": [job.number for job in listed.jobs],
            "outcome": str(cancelled.outcome),
            "attempts": len(attempts.attempts),
            "definition": definition.domain,
            "refused": [refused.code, refused.errors[0].field],
            "missing": missing.code,
        }
    )
)
