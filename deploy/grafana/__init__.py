"""Grafana dashboards: TOML files say what is on them, `python -m deploy.grafana` writes the JSON that Grafana loads."""
