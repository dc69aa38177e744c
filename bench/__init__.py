"""The benchmark: Causeway and its rivals, one after another, on the same clusters, with the same records.

    __main__                      the command line
    scale, shapes                 how much of what is measured; which records
    stage                         the two clusters, their topics, and what is left of them between runs
    warming                       brokers that have compiled what they will be asked for
    load, traffic                 records that lie there; records that come at a pace
    child, usage                  a contender's processes, what they use
    watch → course                what arrives at the destination, and when; figures of that
    content                       both sides compared record by record: a run that differs is void
    contenders/                   who can be started
    measures/                     throughput, latency, catch-up, growth: each gives samples
    samples → figures             what was measured; medians, spreads, percentiles
    report/                       goals, tables, plots and the page, all from the samples alone

Decisions are pure and have tests (tests/bench); all else talks to real brokers and real processes.
"""
