"""Who hears whom, with which weight, and the proof that it mixes."""
