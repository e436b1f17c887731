"""Write what the chart has from elsewhere."""

from deploy.helm.made import made

for path, text in made().items():
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
