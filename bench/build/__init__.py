"""From a configuration to what runs it: problem, method, network; where its numbers come from."""
