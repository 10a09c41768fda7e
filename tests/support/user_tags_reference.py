"""The sets of a generated user, written as plainly as possible, from the same random numbers as the kernel."""

from cbnet.pipeline.population.counter_random import units, wide_units, words

NEAREST, BAND = 8.0, 0.1


class Numbers:
    """The random numbers of a user, in order."""

    def __init__(self, seed, stream, user):
        self.of, self.left, self.slot = (seed, stream, user), [], 0

    def word(self):
        if not self.left:
            seed, stream, user = self.of
            self.left = [*words(seed, stream, [user], self.slot)[:, 0]]
            self.slot += 1
        return self.left.pop(0)

    def unit(self):
        return float(units(self.word()))

    def wide(self):
        high = self.word()
        return float(wide_units(high, self.word()))


class Reference:
    """A user of a law: growth, head, discount, concentration, cohesion."""

    def __init__(self, law, last, limit, seed, streams, user):
        self.growth, self.head, self.discount, self.concentration, self.cohesion = law
        self.last, self.limit, self.seed, self.common = last, limit, seed, streams[1]
        self.random = Numbers(seed, streams[0], user)
        self.power = self.growth / (1 - self.growth)
        self.rest = ((last + 1 + self.head) / self.head) ** (1 - 1 / self.growth)
        self.history = []  # sets of [tag, is first]

    def rank(self, unit):
        return int(min(self.last, self.head * ((1 - unit * (1 - self.rest)) ** -self.power - 1)))

    def neighbour(self, tag):
        unit = self.random.unit()
        number = int(min(NEAREST * unit / (1 - unit), 2**32 - 1))
        high, low, _, _ = words(self.seed, self.common, [tag], number)[:, 0]
        place = (1 - ((tag + 0.5 + self.head) / self.head) ** (-1 / self.power)) / (1 - self.rest)
        place = abs(place + BAND * (2 * float(wide_units(high, low)) - 1))
        return self.rank(min(place, 2 - place))

    def size(self, one_tag, sizes):
        if self.random.unit() < one_tag:
            return 1
        unit = self.random.unit()
        return next((number for number, share in enumerate(sizes, 2) if unit < share), len(sizes) + 1)

    def draw_set(self, size):
        own, origin, is_new = [], None, False
        for number in range(size):
            goes_on = number > 0 and self.random.unit() < self.cohesion
            draws = [(tag, first, tags) for tags in [*self.history, own] for tag, first in tags]
            tables = sum(first for _, first, _ in draws)
            if not goes_on:
                is_new = not draws or (
                    self.random.unit() * (self.concentration + len(draws)) < self.concentration + self.discount * tables
                )
            is_new = is_new and tables < self.limit
            for tries in range(16):
                source = None
                if is_new and goes_on:
                    tag = self.neighbour(own[int(self.random.unit() * len(own))][0])
                elif is_new:
                    tag = self.rank(self.random.wide())
                elif goes_on and origin is not None:
                    source = origin
                    tag = origin[int(self.random.unit() * len(origin))][0]
                else:
                    while True:
                        tag, first, source = draws[int(self.random.unit() * len(draws))]
                        if not first or self.random.unit() >= self.discount:
                            break
                if tag not in [each for each, _ in own]:
                    own.append([tag, is_new])
                    origin = source
                    break
                goes_on, is_new = False, is_new or (tries >= 8 and tables < self.limit)
        own.sort(key=lambda each: each[0])
        self.history.append(own)
        return [tag for tag, _ in own]
