curl -X POST "$BASE/api/v1/jobs/prune" \
  -H "X-API-KEY: $API_KEY" \
  -H "Content-Type: application/json" \
  -d '{
        "statuses": ["completed","failed"],
        "older_than_days": 14,
        "domain": "chatbooks",
        "queue": "default",
        "job_type": "export",
        "dry_run": true
      }'
