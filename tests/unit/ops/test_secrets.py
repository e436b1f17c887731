"""Secrets among the settings: where they may come from, and that nothing shows them."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from worker.settings import Settings, SettingsError, load_settings, settings_table
from worker.settings.text import secret_fields

if TYPE_CHECKING:
    from pathlib import Path

PASSWORD = "Zq7-geheim"  # noqa: S105 - a word that appears nowhere else
URL = f"postgresql://rating:{PASSWORD}@db:5432/rating"


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("RATING_")]:
        monkeypatch.delenv(name)


def fault(**overrides: object) -> str:
    """Load with overrides that don't hold, and return the error's text."""
    with pytest.raises(SettingsError) as caught:
        load_settings(**overrides)
    return str(caught.value)


def test_the_password_is_there_for_the_one_who_asks() -> None:
    """The driver gets the whole URL, and people see where it leads."""
    url = load_settings(database_url=URL).database_url
    assert url.get_secret_value() == URL
    assert str(url) == "postgresql://rating:***@db:5432/rating"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgres://db/rating", "postgres://db/rating"),
        ("postgresql://rating@db/rating", "postgresql://rating@db/rating"),
        (
            "postgresql://u:p%40ss@[::1]:5432,b:5433/r?password=x&sslmode=require",
            "postgresql://u:***@[::1]:5432,b:5433/r",
        ),
        ("postgresql:///rating?host=/tmp", "postgresql:///rating"),
        ("postgresql://", "postgresql://"),
    ],
)
def test_urls_are_shown_without_password_and_parameters(url: str, shown: str) -> None:
    """Every form of URL that is taken is shown by scheme, user, hosts and database only."""
    assert str(load_settings(database_url=url).database_url) == shown


@pytest.mark.parametrize(
    "url",
    [
        "",
        PASSWORD,
        f"mysql://u:{PASSWORD}@db/r",
        f"postgresql+asyncpg://u:{PASSWORD}@db/r",
        f"postgresql://u:{PASSWORD}/x@db/r",
        f"postgresql://u:{PASSWORD}@x@db/r",
        f"postgresql://u:{PASSWORD}?x@db/r",
        f"postgresql://u:{PASSWORD}#x@db/r",
        f"postgresql://u:{PASSWORD} x@db/r",
        f"postgresql://u:{PASSWORD}",
        f'postgresql://u:{PASSWORD}"@db/r',
        f"postgresql://u:p@db:{PASSWORD}/r",
        f"postgresql://u:123?{PASSWORD}@db/r",
    ],
)
def test_a_url_that_does_not_hold_is_refused_and_not_shown(url: str) -> None:
    """An error about the URL says what is allowed and shows nothing of it: no one knows which part is the password."""
    text = fault(database_url=url)
    assert "RATING_DATABASE_URL=(hidden): allowed is postgresql://user:password@host" in text
    assert "percent-encoded" in text
    assert PASSWORD not in text


@given(st.text(max_size=30), st.sampled_from([{}, {"http_port": -1}, {"lock_timeout_ms": 10_000}]))
def test_no_secret_in_any_text(noise: str, faults: dict[str, int]) -> None:
    """Whatever stands around it, the password is in no repr, no str, no dump to JSON and no error."""
    for url in (
        URL,
        f"postgresql://u:{PASSWORD}{noise}@db/r",
        f"postgresql://u:{noise}{PASSWORD}@db/{noise}",
        noise + URL,
    ):
        try:
            settings = Settings(database_url=url, **faults)  # type: ignore[arg-type]
            texts = [str(settings), repr(settings), str(settings.model_dump()), settings.model_dump_json()]
        except ValidationError as error:
            texts = [str(error), repr(error), fault(database_url=url, **faults)]
        assert PASSWORD not in "".join(texts)


def test_an_error_keeps_no_link_to_the_secret() -> None:
    """A traceback of a settings error does not print the validation error behind it, which knows the values."""
    with pytest.raises(SettingsError) as caught:
        load_settings(database_url=URL, http_port=-1)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_a_secret_may_come_from_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`RATING_DATABASE_URL_FILE` names a file with the URL; the line end that editors add does not count."""
    file = tmp_path / "url"
    file.write_text(URL + "\n")
    monkeypatch.setenv("RATING_DATABASE_URL_FILE", str(file))
    assert load_settings().database_url.get_secret_value() == URL


def test_a_secret_may_come_from_a_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`RATING_SECRETS_DIR` names a folder with a file for each secret, as Kubernetes mounts one; nearer sources win."""
    data = tmp_path / "..2026"
    data.mkdir()
    (data / "RATING_DATABASE_URL").write_text(URL)
    (tmp_path / "RATING_DATABASE_URL").symlink_to(data / "RATING_DATABASE_URL")
    monkeypatch.setenv("RATING_SECRETS_DIR", str(tmp_path))
    assert load_settings().database_url.get_secret_value() == URL
    (tmp_path / "own").write_text("postgresql://nearer")
    monkeypatch.setenv("RATING_DATABASE_URL_FILE", str(tmp_path / "own"))
    assert load_settings().database_url.get_secret_value() == "postgresql://nearer"
    monkeypatch.delenv("RATING_DATABASE_URL_FILE")
    monkeypatch.setenv("RATING_DATABASE_URL", "postgresql://nearest")
    assert load_settings().database_url.get_secret_value() == "postgresql://nearest"


SCRAM = {"kafka_security_protocol": "SASL_SSL", "kafka_sasl_mechanism": "SCRAM-SHA-512", "kafka_sasl_user": "worker"}
OAUTH = {
    "kafka_security_protocol": "SASL_SSL",
    "kafka_sasl_mechanism": "OAUTHBEARER",
    "kafka_oauth_token_url": "https://id.example/token",
    "kafka_oauth_client_id": "worker",
}
TLS = {"kafka_security_protocol": "SSL", "kafka_certificate_file": __file__, "kafka_key_file": __file__}
PASSWORDS = {"kafka_sasl_password": SCRAM, "kafka_oauth_client_secret": OAUTH, "kafka_key_password": TLS}


def test_every_secret_is_known_here() -> None:
    """A setting that is a secret has a case in these tests."""
    assert set(secret_fields(Settings)) == {"database_url", *PASSWORDS}


@pytest.mark.parametrize("field", PASSWORDS)
def test_each_password_is_shown_nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, field: str) -> None:
    """Whatever it is given by, and whether the settings hold or not, the driver gets it and nobody sees it."""
    name, others = f"RATING_{field.upper()}", PASSWORDS[field]
    texts = []
    with monkeypatch.context() as variable:
        variable.setenv(name, PASSWORD)
        settings = load_settings(**others)
        assert getattr(settings, field).get_secret_value() == PASSWORD
        texts += [str(settings), repr(settings), str(settings.model_dump()), settings.model_dump_json()]
        texts += [fault(**others, http_port=-1), fault()]  # a value that is not allowed; a password that nothing uses
        variable.setenv(f"{name}_FILE", str(tmp_path / "none"))
        texts.append(fault(**others))
        assert f"{name} and {name}_FILE are both set" in texts[-1]
    (tmp_path / "file").write_text(f"{PASSWORD}\n")
    (tmp_path / name).write_text(f"{PASSWORD}\n")
    for source, place in ((f"{name}_FILE", tmp_path / "file"), ("RATING_SECRETS_DIR", tmp_path)):
        with monkeypatch.context() as variable:
            variable.setenv(source, str(place))
            assert getattr(load_settings(**others), field).get_secret_value() == PASSWORD
    assert PASSWORD not in "".join(texts)
    assert PASSWORD not in settings_table()


def test_a_misspelt_password_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable is named, its value is not: it may be the password all the same."""
    monkeypatch.setenv("RATING_KAFKA_SASL_PASWORD", PASSWORD)
    text = fault()
    assert "did you mean RATING_KAFKA_SASL_PASSWORD?" in text
    assert PASSWORD not in text


def test_a_secret_given_twice_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A variable and its file together are a mistake: which one holds must not be a guess."""
    monkeypatch.setenv("RATING_DATABASE_URL", URL)
    monkeypatch.setenv("RATING_DATABASE_URL_FILE", str(tmp_path / "url"))
    text = fault()
    assert "RATING_DATABASE_URL and RATING_DATABASE_URL_FILE are both set" in text
    assert PASSWORD not in text


def test_a_secret_file_that_cannot_be_read_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A missing file, a folder, or a file that is no text gives a line with the variable, the path and why."""
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe")
    for path, why in ((tmp_path / "none", "No such file"), (tmp_path, "Is a directory"), (binary, "not UTF-8 text")):
        monkeypatch.setenv("RATING_DATABASE_URL_FILE", str(path))
        assert re.search(rf"RATING_DATABASE_URL_FILE={re.escape(str(path))}: can't be read: {why}", fault())
    monkeypatch.delenv("RATING_DATABASE_URL_FILE")
    monkeypatch.setenv("RATING_SECRETS_DIR", str(tmp_path / "none"))
    assert "RATING_SECRETS_DIR=" in fault()
