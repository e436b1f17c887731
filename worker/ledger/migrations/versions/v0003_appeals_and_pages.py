"""What a rating reset took, so that its lift can give it back; the leaderboard's pages by the pool's id."""

from worker.ledger.migrate import run_sql_file

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add what a sanction took, and the pool's id to the leaderboard."""
    run_sql_file("0003_appeals_and_pages.sql")


def downgrade() -> None:
    """Forget what resets took: those that are lifted after this give nothing back."""
    run_sql_file("0003_appeals_and_pages.down.sql")
