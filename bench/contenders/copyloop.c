/* A bare copy loop on librdkafka: consume a batch, detach headers, produce with partition and timestamp.
 *
 *     copyloop TOPIC PARTITIONS PROCESSES c:NAME=VALUE… p:NAME=VALUE…
 *
 * No transaction, no ledger, no positions: the upper limit of a client. It runs until SIGTERM. Each process
 * has the partitions whose number modulo PROCESSES is its own. c: are properties of the consumer, p: of the
 * producer.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/* What is used of librdkafka: the wheel ships the library without its header. */
typedef struct rd_kafka_s rd_kafka_t;
typedef struct rd_kafka_conf_s rd_kafka_conf_t;
typedef struct rd_kafka_topic_s rd_kafka_topic_t;
typedef struct rd_kafka_queue_s rd_kafka_queue_t;
typedef struct rd_kafka_headers_s rd_kafka_headers_t;
typedef struct rd_kafka_topic_conf_s rd_kafka_topic_conf_t;
typedef struct rd_kafka_topic_partition_s rd_kafka_topic_partition_t;
typedef struct rd_kafka_topic_partition_list_s rd_kafka_topic_partition_list_t;
typedef struct {
    int err;
    rd_kafka_topic_t *rkt;
    int32_t partition;
    void *payload;
    size_t len;
    void *key;
    size_t key_len;
    int64_t offset;
    void *_private;
} rd_kafka_message_t;

enum { PRODUCER = 0, CONSUMER = 1 };
enum { V_END = 0, V_RKT = 2, V_PARTITION = 3, V_VALUE = 4, V_KEY = 5, V_MSGFLAGS = 7, V_TIMESTAMP = 8, V_HEADERS = 10 };
enum { F_COPY = 2 };
enum { PARTITION_EOF = -191, QUEUE_FULL = -184 };
enum { OFFSET_BEGINNING = -2, BATCH = 10000, WAIT_MS = 5 };

rd_kafka_conf_t *rd_kafka_conf_new(void);
int rd_kafka_conf_set(rd_kafka_conf_t *, const char *, const char *, char *, size_t);
rd_kafka_t *rd_kafka_new(int, rd_kafka_conf_t *, char *, size_t);
rd_kafka_topic_t *rd_kafka_topic_new(rd_kafka_t *, const char *, rd_kafka_topic_conf_t *);
int rd_kafka_poll_set_consumer(rd_kafka_t *);
rd_kafka_queue_t *rd_kafka_queue_get_consumer(rd_kafka_t *);
rd_kafka_topic_partition_list_t *rd_kafka_topic_partition_list_new(int);
rd_kafka_topic_partition_t *rd_kafka_topic_partition_list_add(rd_kafka_topic_partition_list_t *, const char *, int32_t);
int rd_kafka_topic_partition_list_set_offset(rd_kafka_topic_partition_list_t *, const char *, int32_t, int64_t);
int rd_kafka_assign(rd_kafka_t *, const rd_kafka_topic_partition_list_t *);
ssize_t rd_kafka_consume_batch_queue(rd_kafka_queue_t *, int, rd_kafka_message_t **, size_t);
int rd_kafka_message_detach_headers(rd_kafka_message_t *, rd_kafka_headers_t **);
int64_t rd_kafka_message_timestamp(const rd_kafka_message_t *, int *);
void rd_kafka_message_destroy(rd_kafka_message_t *);
int rd_kafka_producev(rd_kafka_t *, ...);
int rd_kafka_poll(rd_kafka_t *, int);
int rd_kafka_flush(rd_kafka_t *, int);
const char *rd_kafka_err2str(int);

static volatile sig_atomic_t stopping;

static void stop(int number) {
    (void)number;
    stopping = 1;
}

static void die(const char *what, const char *why) {
    fprintf(stderr, "copyloop: %s: %s\n", what, why);
    exit(1);
}

/* A client with the properties whose mark is the kind's. */
static rd_kafka_t *client(int kind, char mark, char **properties) {
    char why[512];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    for (; *properties; properties++) {
        if ((*properties)[0] != mark || (*properties)[1] != ':')
            continue;
        char *name = strdup(*properties + 2), *value = strchr(name, '=');
        if (!value)
            die(*properties, "not NAME=VALUE");
        *value++ = 0;
        if (rd_kafka_conf_set(conf, name, value, why, sizeof why))
            die(name, why);
        free(name);
    }
    rd_kafka_t *made = rd_kafka_new(kind, conf, why, sizeof why);
    if (!made)
        die("no client", why);
    return made;
}

static void forward(rd_kafka_t *producer, rd_kafka_topic_t *topic, rd_kafka_message_t *message) {
    int kind, err;
    rd_kafka_headers_t *headers = NULL;
    rd_kafka_message_detach_headers(message, &headers);
    int64_t timestamp = rd_kafka_message_timestamp(message, &kind);
    for (;;) {
        if (headers)
            err = rd_kafka_producev(producer, V_RKT, topic, V_PARTITION, message->partition, V_MSGFLAGS, F_COPY,
                                    V_VALUE, message->payload, message->len, V_KEY, message->key,
                                    message->key_len, V_TIMESTAMP, timestamp, V_HEADERS, headers, V_END);
        else
            err = rd_kafka_producev(producer, V_RKT, topic, V_PARTITION, message->partition, V_MSGFLAGS, F_COPY,
                                    V_VALUE, message->payload, message->len, V_KEY, message->key,
                                    message->key_len, V_TIMESTAMP, timestamp, V_END);
        if (err != QUEUE_FULL)
            break;
        rd_kafka_poll(producer, 1);
    }
    if (err)
        die("produce", rd_kafka_err2str(err));
}

static void copy(const char *topic, int partitions, int processes, int mine, char **properties) {
    rd_kafka_t *consumer = client(CONSUMER, 'c', properties), *producer = client(PRODUCER, 'p', properties);
    rd_kafka_topic_t *there = rd_kafka_topic_new(producer, topic, NULL);
    rd_kafka_topic_partition_list_t *places = rd_kafka_topic_partition_list_new(partitions);
    for (int partition = mine; partition < partitions; partition += processes) {
        rd_kafka_topic_partition_list_add(places, topic, partition);
        rd_kafka_topic_partition_list_set_offset(places, topic, partition, OFFSET_BEGINNING);
    }
    rd_kafka_poll_set_consumer(consumer);
    rd_kafka_queue_t *queue = rd_kafka_queue_get_consumer(consumer);
    int err = rd_kafka_assign(consumer, places);
    if (err)
        die("assign", rd_kafka_err2str(err));
    static rd_kafka_message_t *batch[BATCH];
    while (!stopping) {
        ssize_t count = rd_kafka_consume_batch_queue(queue, WAIT_MS, batch, BATCH);
        for (ssize_t at = 0; at < count; at++) {
            if (!batch[at]->err)
                forward(producer, there, batch[at]);
            else if (batch[at]->err != PARTITION_EOF)
                die("consume", rd_kafka_err2str(batch[at]->err));
            rd_kafka_message_destroy(batch[at]);
        }
        rd_kafka_poll(producer, 0);
    }
    rd_kafka_flush(producer, 5000);
    _exit(0);
}

int main(int count, char **arguments) {
    if (count < 4)
        die("usage", "copyloop TOPIC PARTITIONS PROCESSES c:NAME=VALUE… p:NAME=VALUE…");
    int partitions = atoi(arguments[2]), processes = atoi(arguments[3]);
    struct sigaction action = {.sa_handler = stop}; /* signal() would restart wait() */
    sigaction(SIGTERM, &action, NULL);
    for (int number = 0; number < processes; number++) {
        pid_t child = fork();
        if (child < 0)
            die("fork", "no more processes");
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL); /* no child outlives the process that measures it */
            copy(arguments[1], partitions, processes, number, arguments + 4);
        }
    }
    /* The first child that ends by itself ends all: half a copy is none. */
    int status = 0;
    pid_t ended = wait(&status);
    kill(0, SIGTERM);
    while (wait(NULL) > 0)
        ;
    return stopping ? 0 : ended > 0 ? 1 : 2;
}
