"""One small file per method, found by the harness through the registry."""
