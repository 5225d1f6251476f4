"""The probes, grouped by what they ask; ``ledger.evidence`` finds them by a claim's id."""
