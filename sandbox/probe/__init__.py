"""One server's tools to evidence: calls in clean boxes, repeats, controls and confirmations. No verdicts."""
