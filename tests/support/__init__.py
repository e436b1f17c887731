"""What several kinds of tests share: worker processes, match streams, independent readers, the checker."""
