"""The rating policies, as data: TOML files that ship with the worker, and what reads and checks them."""

from worker.policies.load import load_policies, load_policy_file

__all__ = ["load_policies", "load_policy_file"]
