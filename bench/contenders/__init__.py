"""The systems that can be measured: each has a name, reports its settings, and runs as a process.

causeway      the product, as users run it
mirrormaker   a real MirrorMaker 2, tuned, in both deliveries
copyloop      a bare copy loop in C: the upper limit of a client
others        programs described in a file
kafka_tools   limits without replication: Kafka's own consumer and producer
"""
