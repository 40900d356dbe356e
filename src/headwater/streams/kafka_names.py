"""Which settings of Kafka's clients may be given as `kafka.<name>`.

A query that comes from Spark's Kafka source or sink brings settings of Java's clients, a pipeline those of
its profile, which are librdkafka's. Most of them change nothing here. A name that no client has is a
mistake; so is one that promises a login, or keys for TLS, that nobody would use.
"""

from dataclasses import fields
from difflib import get_close_matches
from typing import Final

from headwater.bulk.security import Security
from headwater.errors import InvalidRequest

_OF_TLS: Final = [
    name for each in fields(Security) if (name := each.name.replace("_", ".")).startswith("ssl.")
]
_ALIASES: Final = {
    "metadata.broker.list": "bootstrap.servers",
    "compression.codec": "compression.type",
}
_HOST_CHECK: Final = "ssl.endpoint.identification.algorithm"
"""Taken, though it changes nothing: the name of a host is always checked."""

# ConsumerConfig.configNames() and ProducerConfig.configNames() of Kafka 4.3, but for internal ones and
# those of logins, TLS, share groups and two-phase commits.
_OF_JAVA: Final = """
acks allow.auto.create.topics auto.commit.interval.ms auto.include.jmx.reporter auto.offset.reset
batch.size bootstrap.servers buffer.memory check.crcs client.dns.lookup client.id client.rack
compression.gzip.level compression.lz4.level compression.type compression.zstd.level config.providers
connections.max.idle.ms default.api.timeout.ms delivery.timeout.ms enable.auto.commit
enable.idempotence enable.metrics.push exclude.internal.topics fetch.max.bytes fetch.max.wait.ms
fetch.min.bytes group.id group.instance.id group.protocol group.remote.assignor heartbeat.interval.ms
interceptor.classes isolation.level key.deserializer key.serializer linger.ms max.block.ms
max.in.flight.requests.per.connection max.partition.fetch.bytes max.poll.interval.ms max.poll.records
max.request.size metadata.max.age.ms metadata.max.idle.ms metadata.recovery.rebootstrap.trigger.ms
metadata.recovery.strategy metric.reporters metrics.num.samples metrics.recording.level
metrics.sample.window.ms partition.assignment.strategy partitioner.adaptive.partitioning.enable
partitioner.availability.timeout.ms partitioner.class partitioner.ignore.keys receive.buffer.bytes
reconnect.backoff.max.ms reconnect.backoff.ms request.timeout.ms retries retry.backoff.max.ms
retry.backoff.ms security.protocol security.providers send.buffer.bytes session.timeout.ms
socket.connection.setup.timeout.max.ms socket.connection.setup.timeout.ms transaction.timeout.ms
transactional.id value.deserializer value.serializer
"""
# rd_kafka_conf_properties_show() of librdkafka 2.16, but for those above, callbacks, logins, TLS and
# aliases of settings that count here.
_OF_LIBRDKAFKA: Final = """
api.version.fallback.ms api.version.request api.version.request.timeout.ms auto.commit.enable
batch.num.messages broker.address.family broker.address.ttl broker.version.fallback compression.level
consume.callback.max.messages coordinator.query.interval.ms debug delivery.report.only.error
enable.auto.offset.store enable.gapless.guarantee enable.partition.eof enable.random.seed
enable.ssl.certificate.verification fetch.error.backoff.ms fetch.message.max.bytes fetch.queue.backoff.ms
fetch.wait.max.ms group.protocol.type https.ca.location https.ca.pem internal.termination.signal
log.connection.close log.queue log.thread.name log_level max.in.flight message.copy.max.bytes
message.max.bytes message.send.max.retries message.timeout.ms offset.store.method offset.store.path
offset.store.sync.interval.ms partitioner plugin.library.paths produce.offset.report
queue.buffering.backpressure.threshold queue.buffering.max.kbytes queue.buffering.max.messages
queue.buffering.max.ms queued.max.messages.kbytes queued.min.messages queuing.strategy
receive.message.max.bytes reconnect.backoff.jitter.ms request.required.acks socket.blocking.max.ms
socket.keepalive.enable socket.max.fails socket.nagle.disable socket.receive.buffer.bytes
socket.send.buffer.bytes socket.timeout.ms statistics.interval.ms sticky.partitioning.linger.ms
topic.blacklist topic.metadata.propagation.max.ms topic.metadata.refresh.fast.cnt
topic.metadata.refresh.fast.interval.ms topic.metadata.refresh.interval.ms topic.metadata.refresh.sparse
"""
_KNOWN: Final = frozenset([*_OF_JAVA.split(), *_OF_LIBRDKAFKA.split(), *_OF_TLS, _HOST_CHECK])


def refuse_unknown(name: str) -> None:
    """Raise `InvalidRequest` for a name that is not known, or that would be ignored and must not be."""
    if name in _KNOWN:
        return
    if name.startswith("sasl."):
        raise InvalidRequest(
            f"option kafka.{name} cannot be set: Spark's side cannot log in yet",
            hint="use a listener with PLAINTEXT or SSL",
        )
    if name.startswith("ssl."):
        names = ", ".join(f"kafka.{each}" for each in _OF_TLS)
        raise InvalidRequest(
            f"there is no option 'kafka.{name}'", hint=f"TLS has {names}, and files in PEM"
        )
    meant = _ALIASES.get(name) or next(iter(get_close_matches(name, sorted(_KNOWN), n=1)), None)
    raise InvalidRequest(
        f"there is no option 'kafka.{name}'",
        hint=f"meant: kafka.{meant}?" if meant else "see Kafka's settings of consumer and producer",
    )
