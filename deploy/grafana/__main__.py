"""Write the dashboards' JSON files from their sources."""

from deploy.grafana.dashboard import SOURCES, text_of, written

for source in SOURCES:
    written(source).write_text(text_of(source), encoding="utf-8")
