"""The benchmark's queue in SimPy: prints the mean time of a customer, in seconds.

python mmc.py CUSTOMERS SERVERS RATE MEAN_S SEED
"""

import random
import sys

import simpy


def arrivals(env, servers, customers, *, rate, mean_s, draws, total):
    for _ in range(customers):
        yield env.timeout(draws.expovariate(rate))
        env.process(customer(env, servers, draws.expovariate(1 / mean_s), total))


def customer(env, servers, takes, total):
    came = env.now
    with servers.request() as mine:
        yield mine
        yield env.timeout(takes)
    total[0] += env.now - came


def main(customers, servers, rate, mean_s, seed):
    env, total = simpy.Environment(), [0.0]
    resource = simpy.Resource(env, capacity=servers)
    env.process(arrivals(env, resource, customers, rate=rate, mean_s=mean_s, draws=random.Random(seed), total=total))
    env.run()
    print(total[0] / customers)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *map(float, sys.argv[3:5]), int(sys.argv[5]))
