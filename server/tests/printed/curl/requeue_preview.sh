curl -X POST "$BASE/api/v1/jobs/batch/requeue_quarantined" \
  -H "X-API-KEY: $API_KEY" \
  -H "Content-Type: application/json" \
  -d '{
        "domain": "chatbooks",
        "queue": "default",
        "job_type": "export",
        "dry_run": true
      }'
