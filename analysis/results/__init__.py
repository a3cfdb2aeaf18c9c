"""Reading results, and names of methods and metrics."""
