"""The Helm chart, and what in it is made from elsewhere.

`python -m deploy.helm` writes `values.schema.json` anew, from `schema` and the worker's settings, and copies the alert
rules and the dashboards into the chart, since Helm reads no file outside of it. A test compares.
"""
