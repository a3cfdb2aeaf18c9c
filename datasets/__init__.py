"""One small file per dataset, found by the harness through the registry."""
