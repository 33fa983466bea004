"""Computes the time of a training step on several machines, by the formulas of RANKS.md."""
import math

# Assumptions of the calculation (see RANKS.md): bit/s of a link, its usable share, and its latency in seconds.
LINKS = {"10 Gbit/s": (10e9, 0.9, 30e-6), "100 Gbit/s": (100e9, 0.9, 10e-6)}
MESSAGE = 2e-6   # seconds of CPU time for each message
ADDING = 5e9     # bytes of gradients that one thread of an owner adds per second
UPDATING = 10e9  # bytes per second that each thread of the optimizer reads and writes
COPIES = 7       # AdamW reads a gradient, a parameter and two moments, and writes all but the gradient


def update_by_arithmetic(parameters, threads):
    """Returns the seconds that AdamW takes for parameters of this size in bytes."""
    return COPIES * parameters / (UPDATING * threads)


def step_by_arithmetic(machines, step, update, gradient, layers, link):
    """Returns the seconds of a step with a model of this number of layers. `step` is the time of a step on one machine,
    which ends with the optimizer's update. Backward takes two thirds of the time before, and makes the buckets ready
    layer by layer. The link sends them in that order: first the pieces to the owners, later the sums back. `gradient`
    is the size in bytes of what is sent."""
    rate, part, latency = link
    speed = rate * part / 8
    size = min(max(gradient / 16, 128 << 10), 4 << 20)
    buckets = max(1, round(gradient / size))
    forward, backward = (step - update) / 3, 2 * (step - update) / 3
    if machines == 1:
        return step
    sending = (machines - 1) * MESSAGE + gradient / buckets * (machines - 1) / machines / speed
    adding = gradient / buckets / ADDING
    free, added, waiting = 0.0, [], 0
    back = 0.0
    for bucket in range(buckets):
        ready = forward + backward * math.ceil((bucket + 1) * layers / buckets) / layers
        # Sums that become ready before this bucket go first.
        while waiting < len(added) and max(free, added[waiting]) < ready:
            free = max(free, added[waiting]) + sending
            back, waiting = free + latency, waiting + 1
        free = max(free, ready) + sending
        added.append(max(free + latency, added[-1] if added else 0) + adding)
    for time in added[waiting:]:
        free = max(free, time) + sending
        back = free + latency
    return max(step, back + update)
