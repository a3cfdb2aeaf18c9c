"""How a run is computed: in this process, in another, on ranks."""
