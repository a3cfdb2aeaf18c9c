"""What an algorithm is: a start, a step, stepsizes, and a declaration of what it costs."""
