"""Who can be started: each has a name, says its settings, and becomes a process.

causeway      the product, as users run it
mirrormaker   a real MirrorMaker 2, tuned, in both deliveries
copyloop      a bare copy loop in C: the limit of what a client can do
others        whatever a file names
kafka_tools   limits that carry nothing: Kafka's own consumer and producer
"""
