"""The benchmark: Causeway and other tools, one after another, on the same clusters, with the same records.

    __main__                      the command line
    scale, shapes                 what is measured and how much; record shapes
    stage                         the two clusters, and their topics
    warming                       warms up the brokers' JVMs
    load, traffic                 records written before a run; records produced at a fixed rate
    child, usage                  a contender's processes, their CPU and memory
    watch → course                arrivals at the destination over time; figures computed from them
    content                       compares both sides record by record: a run that differs is void
    contenders/                   the systems that can be measured
    measures/                     throughput, latency, catch-up, growth: each returns samples
    samples → figures             the measurements; medians, spreads, percentiles
    report/                       goals, tables, plots and the page, made from the samples only

Decisions are pure and have tests (tests/bench); the rest uses real brokers and real processes.
"""
