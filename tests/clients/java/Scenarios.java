import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.AbortTransactionSpec;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ListTransactionsOptions;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.admin.TransactionState;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * The Java client against a broker. Each line of standard input is a scenario to run: bootstrap servers, a
 * name that no other scenario uses, the scenario, and what it wants. The answer on standard output is
 * "passed", or a stack trace and "failed".
 */
public final class Scenarios {
    private static final Duration SHORT = Duration.ofMillis(50);
    private static final long WITHIN_MS = 30_000;

    private final String bootstrap;
    private final String name;

    private Scenarios(String bootstrap, String name) {
        this.bootstrap = bootstrap;
        this.name = name;
    }

    public static void main(String[] none) throws IOException {
        var input = new BufferedReader(new InputStreamReader(System.in, UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split(" ");
            try {
                new Scenarios(words[0], words[1]).run(words[2], words.length > 3 ? words[3] : "");
                System.out.println("passed");
            } catch (Throwable error) {
                error.printStackTrace(System.out);
                System.out.println("failed");
            }
        }
    }

    private void run(String scenario, String option) throws Exception {
        switch (scenario) {
            case "codec" -> codec(option);
            case "record" -> record();
            case "idempotent" -> idempotent();
            case "acks" -> acks(option);
            case "too-large" -> tooLarge();
            case "rebalance" -> rebalance(option);
            case "cooperative" -> cooperative();
            case "static-member" -> staticMember();
            case "commit" -> commit();
            case "seek" -> seek();
            case "times" -> times();
            case "transactions" -> transactions();
            case "transform" -> transform();
            case "zombie" -> zombie();
            case "transaction-timeout" -> transactionTimeout();
            case "admin-transactions" -> adminTransactions();
            case "admin-topics" -> adminTopics();
            case "admin-configs" -> adminConfigs();
            case "admin-records" -> adminRecords();
            case "admin-groups" -> adminGroups();
            case "admin-cluster" -> adminCluster();
            default -> throw new IllegalArgumentException("no scenario " + scenario);
        }
    }

    private void codec(String codec) throws Exception {
        createTopic(1);
        List<String> values = IntStream.range(0, 500).mapToObj(i -> ("value " + i + " ").repeat(20)).toList();
        produce(values, Map.of("compression.type", codec, "linger.ms", "50"));
        expect(values, valuesOf(readAll(500)));
    }

    private void record() throws Exception {
        createTopic(1);
        long then = System.currentTimeMillis() - 12_345;
        try (var producer = producer(Map.of())) {
            var record = new ProducerRecord<>(name, 0, then, bytes("k"), bytes("v"));
            record.headers().add("a", bytes("1")).add("b", null);
            producer.send(record).get();
        }
        ConsumerRecord<byte[], byte[]> record = readAll(1).get(0);
        expect("k", new String(record.key(), UTF_8));
        expect(then, record.timestamp());
        expect(List.of("a", "b"), Arrays.stream(record.headers().toArray()).map(Header::key).toList());
        expect(null, record.headers().toArray()[1].value());
    }

    private void idempotent() throws Exception {
        createTopic(1);
        List<Long> offsets = produce(numbers(5000), Map.of("enable.idempotence", "true", "acks", "all"));
        expect(IntStream.range(0, 5000).mapToObj(Long::valueOf).toList(), offsets);
        expect(numbers(5000), valuesOf(readAll(5000)));
    }

    private void acks(String acks) throws Exception {
        createTopic(1);
        produce(numbers(100), Map.of("acks", acks, "enable.idempotence", "false"));
        expect(numbers(100), valuesOf(readAll(100)));
    }

    private void tooLarge() throws Exception {
        createTopic(1);
        try (var producer = producer(Map.of("max.request.size", "10000000"))) {
            Throwable cause = failure(producer.send(new ProducerRecord<>(name, new byte[2_000_000])));
            expect(RecordTooLargeException.class, cause.getClass());
        }
    }

    private void rebalance(String assignor) throws Exception {
        createTopic(4);
        Map<String, String> settings = Map.of("partition.assignment.strategy", assignor);
        try (var first = consumer(settings)) {
            first.subscribe(List.of(name));
            pollUntil(List.of(first), () -> first.assignment().size() == 4);
            try (var second = consumer(settings)) {
                second.subscribe(List.of(name));
                pollUntil(List.of(first, second), () ->
                    first.assignment().size() == 2 && second.assignment().size() == 2);
                Set<TopicPartition> owned = new HashSet<>(first.assignment());
                owned.addAll(second.assignment());
                expect(4, owned.size());
            }
            pollUntil(List.of(first), () -> first.assignment().size() == 4);
        }
    }

    private void cooperative() throws Exception {
        createTopic(4);
        Map<String, String> settings = Map.of(
            "partition.assignment.strategy", "org.apache.kafka.clients.consumer.CooperativeStickyAssignor");
        List<TopicPartition> revoked = new ArrayList<>();
        try (var first = consumer(settings)) {
            first.subscribe(List.of(name), new ConsumerRebalanceListener() {
                @Override public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
                    revoked.addAll(partitions);
                }

                @Override public void onPartitionsAssigned(Collection<TopicPartition> partitions) { }
            });
            pollUntil(List.of(first), () -> first.assignment().size() == 4);
            try (var second = consumer(settings)) {
                second.subscribe(List.of(name));
                pollUntil(List.of(first, second), () -> second.assignment().size() == 2);
                // Only what moves is taken away; the other two were read all the time.
                expect(2, revoked.size());
                expect(new HashSet<>(revoked), second.assignment());
            }
        }
    }

    private void staticMember() throws Exception {
        createTopic(2);
        int[] assignments = {0};
        try (var first = consumer(Map.of("group.instance.id", "one"))) {
            first.subscribe(List.of(name), new ConsumerRebalanceListener() {
                @Override public void onPartitionsRevoked(Collection<TopicPartition> partitions) { }

                @Override public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
                    assignments[0]++;
                }
            });
            Set<TopicPartition> before;
            try (var second = consumer(Map.of("group.instance.id", "two"))) {
                second.subscribe(List.of(name));
                pollUntil(List.of(first, second), () ->
                    first.assignment().size() == 1 && second.assignment().size() == 1);
                before = second.assignment();
            }
            int rebalances = assignments[0];
            try (var second = consumer(Map.of("group.instance.id", "two"))) {
                second.subscribe(List.of(name));
                pollUntil(List.of(first, second), () -> second.assignment().size() == 1);
                expect(before, second.assignment());
            }
            expect(rebalances, assignments[0]);
        }
    }

    private void commit() throws Exception {
        createTopic(1);
        produce(numbers(10), Map.of());
        TopicPartition partition = new TopicPartition(name, 0);
        try (var consumer = consumer(Map.of("enable.auto.commit", "false", "max.poll.records", "4"))) {
            consumer.subscribe(List.of(name));
            read(consumer, 4);
            consumer.commitSync(Map.of(partition, new OffsetAndMetadata(4, Optional.of(0), "half way")));
            expect("half way", consumer.committed(Set.of(partition)).get(partition).metadata());
        }
        try (var consumer = consumer(Map.of())) {
            consumer.subscribe(List.of(name));
            expect(numbers(10).subList(4, 10), valuesOf(read(consumer, 6)));
        }
    }

    private void seek() throws Exception {
        createTopic(1);
        produce(numbers(10), Map.of());
        TopicPartition partition = new TopicPartition(name, 0);
        try (var consumer = consumer(Map.of())) {
            consumer.assign(List.of(partition));
            consumer.seek(partition, 7);
            expect(numbers(10).subList(7, 10), valuesOf(read(consumer, 3)));
            consumer.seekToBeginning(List.of(partition));
            expect(numbers(10), valuesOf(read(consumer, 10)));
            expect(10L, consumer.position(partition));
            expect(0L, consumer.beginningOffsets(List.of(partition)).get(partition));
            expect(10L, consumer.endOffsets(List.of(partition)).get(partition));
        }
    }

    private void times() throws Exception {
        createTopic(1);
        long start = System.currentTimeMillis() - 100_000;
        try (var producer = producer(Map.of("compression.type", "lz4", "linger.ms", "100"))) {
            for (int i = 0; i < 10; i++) {
                producer.send(new ProducerRecord<>(name, 0, start + 1000L * i, null, bytes("x")));
            }
        }
        TopicPartition partition = new TopicPartition(name, 0);
        try (var consumer = consumer(Map.of())) {
            OffsetAndTimestamp found = consumer.offsetsForTimes(Map.of(partition, start + 3500)).get(partition);
            expect(4L, found.offset());
            expect(start + 4000, found.timestamp());
            expect(null, consumer.offsetsForTimes(Map.of(partition, start + 99_000)).get(partition));
        }
    }

    private void transactions() throws Exception {
        createTopic(1);
        try (var producer = transactional(name, Map.of())) {
            for (int i = 0; i < 50; i++) {
                producer.beginTransaction();
                producer.send(new ProducerRecord<>(name, bytes("aborted")));
                producer.flush();
                producer.abortTransaction();
                producer.beginTransaction();
                producer.send(new ProducerRecord<>(name, bytes("" + i)));
                producer.commitTransaction();
            }
            producer.beginTransaction();
            producer.send(new ProducerRecord<>(name, bytes("open"))).get();
            expect(numbers(50), valuesOf(readCommitted(name, 50)));
            producer.commitTransaction();
        }
        expect(51, readCommitted(name, 51).size());
        expect(101, readAll(101).size());
    }

    private void transform() throws Exception {
        createTopic(1);
        String target = name + "-target";
        produce(numbers(60), Map.of());
        try (var producer = transactional(name, Map.of())) {
            for (int start = 0; start < 60; start += 20) {
                for (boolean isGood : List.of(false, true)) {
                    transformOnce(producer, target, start, isGood);
                }
            }
        }
        expect(numbers(60), valuesOf(readCommitted(target, 60)));
        try (var admin = admin()) {
            var committed = admin.listConsumerGroupOffsets(name).partitionsToOffsetAndMetadata().get();
            expect(60L, committed.get(new TopicPartition(name, 0)).offset());
        }
    }

    private void transformOnce(KafkaProducer<byte[], byte[]> producer, String target, int start, boolean isGood) {
        var settings = Map.of("max.poll.records", "20", "enable.auto.commit", "false");
        try (var consumer = consumer(settings)) {
            consumer.subscribe(List.of(name));
            List<ConsumerRecord<byte[], byte[]>> records = read(consumer, 20);
            expect((long) start, records.get(0).offset());
            producer.beginTransaction();
            records.forEach(each -> producer.send(new ProducerRecord<>(target, each.value())));
            var position = Map.of(new TopicPartition(name, 0), new OffsetAndMetadata(start + 20));
            producer.sendOffsetsToTransaction(position, consumer.groupMetadata());
            if (isGood) {
                producer.commitTransaction();
            } else {
                producer.abortTransaction();
            }
        }
    }

    private void zombie() throws Exception {
        createTopic(1);
        try (var zombie = transactional(name, Map.of())) {
            zombie.beginTransaction();
            zombie.send(new ProducerRecord<>(name, bytes("zombie"))).get();
            try (var successor = transactional(name, Map.of())) {
                successor.beginTransaction();
                successor.send(new ProducerRecord<>(name, bytes("successor")));
                try {
                    zombie.commitTransaction();
                    throw new AssertionError("the zombie has committed");
                } catch (ProducerFencedException | InvalidProducerEpochException fenced) {
                    successor.commitTransaction();
                }
            }
        }
        expect(List.of("successor"), valuesOf(readCommitted(name, 1)));
    }

    private void transactionTimeout() throws Exception {
        createTopic(1);
        try (var producer = transactional(name, Map.of("transaction.timeout.ms", "300")); var admin = admin()) {
            producer.beginTransaction();
            producer.send(new ProducerRecord<>(name, bytes("too late"))).get();
            await(() -> stateOf(admin) == TransactionState.COMPLETE_ABORT);
            try {
                producer.commitTransaction();
                throw new AssertionError("a transaction that timed out was committed");
            } catch (KafkaException expected) {
                // Which one depends on what the client sends first.
            }
        }
        produce(List.of("next"), Map.of());
        expect(List.of("next"), valuesOf(readCommitted(name, 1)));
    }

    private void adminTransactions() throws Exception {
        createTopic(1);
        var partition = new TopicPartition(name, 0);
        try (var producer = transactional(name, Map.of()); var admin = admin()) {
            producer.beginTransaction();
            producer.send(new ProducerRecord<>(name, bytes("hanging"))).get();
            expect(TransactionState.ONGOING, stateOf(admin));
            var described = admin.describeTransactions(List.of(name)).description(name).get();
            expect(Set.of(partition), described.topicPartitions());
            var options = new ListTransactionsOptions().filterStates(Set.of(TransactionState.ONGOING));
            expect(true, admin.listTransactions(options).all().get().stream()
                .anyMatch(each -> each.transactionalId().equals(name)));
            var found = admin.describeProducers(List.of(partition)).partitionResult(partition).get();
            var state = found.activeProducers().get(0);
            expect(0L, state.currentTransactionStartOffset().getAsLong());
            var spec = new AbortTransactionSpec(
                partition, state.producerId(), (short) state.producerEpoch(), state.coordinatorEpoch().orElse(0));
            admin.abortTransaction(spec).all().get();
            found = admin.describeProducers(List.of(partition)).partitionResult(partition).get();
            expect(true, found.activeProducers().get(0).currentTransactionStartOffset().isEmpty());
            admin.fenceProducers(List.of(name)).all().get();
        }
        produce(List.of("next"), Map.of());
        expect(List.of("next"), valuesOf(readCommitted(name, 1)));
    }

    private TransactionState stateOf(Admin admin) throws Exception {
        return admin.describeTransactions(List.of(name)).description(name).get().state();
    }

    private KafkaProducer<byte[], byte[]> transactional(String id, Map<String, String> settings) {
        Map<String, String> all = new HashMap<>(settings);
        all.put("transactional.id", id);
        KafkaProducer<byte[], byte[]> producer = producer(all);
        producer.initTransactions();
        return producer;
    }

    private List<ConsumerRecord<byte[], byte[]>> readCommitted(String topic, int count) {
        var settings = Map.of("isolation.level", "read_committed", "enable.auto.commit", "false");
        try (var consumer = consumer(settings)) {
            consumer.assign(List.of(new TopicPartition(topic, 0)));
            consumer.seekToBeginning(consumer.assignment());
            return read(consumer, count);
        }
    }

    private void adminTopics() throws Exception {
        try (Admin admin = admin()) {
            var created = admin.createTopics(List.of(
                new NewTopic(name, Optional.of(2), Optional.empty()).configs(Map.of("retention.ms", "1234"))));
            created.all().get();
            expect(2, created.numPartitions(name).get());
            expect("1234", created.config(name).get().get("retention.ms").value());
            expect(TopicExistsException.class,
                failure(admin.createTopics(List.of(new NewTopic(name, 1, (short) 1))).all()).getClass());
            await(() -> admin.listTopics().names().get().contains(name));

            TopicDescription described = admin.describeTopics(List.of(name)).allTopicNames().get().get(name);
            expect(created.topicId(name).get(), described.topicId());
            expect(2, described.partitions().size());
            expect(1, described.partitions().get(0).isr().size());

            admin.createPartitions(Map.of(name, NewPartitions.increaseTo(5))).all().get();
            await(() -> admin.describeTopics(List.of(name)).allTopicNames().get().get(name)
                .partitions().size() == 5);
            admin.deleteTopics(List.of(name)).all().get();
            await(() -> !admin.listTopics().names().get().contains(name));
        }
    }

    private void adminConfigs() throws Exception {
        createTopic(1);
        ConfigResource topic = new ConfigResource(ConfigResource.Type.TOPIC, name);
        try (Admin admin = admin()) {
            Config before = admin.describeConfigs(List.of(topic)).all().get().get(topic);
            expect("604800000", before.get("retention.ms").value());
            expect(ConfigEntry.ConfigSource.DEFAULT_CONFIG, before.get("retention.ms").source());
            admin.incrementalAlterConfigs(Map.of(topic, List.of(
                new AlterConfigOp(new ConfigEntry("retention.ms", "777"), AlterConfigOp.OpType.SET),
                new AlterConfigOp(new ConfigEntry("cleanup.policy", "compact"), AlterConfigOp.OpType.APPEND)
            ))).all().get();
            await(() -> admin.describeConfigs(List.of(topic)).all().get().get(topic)
                .get("retention.ms").value().equals("777"));
            Config after = admin.describeConfigs(List.of(topic)).all().get().get(topic);
            expect("delete,compact", after.get("cleanup.policy").value());
            expect(ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG, after.get("cleanup.policy").source());

            Node node = admin.describeCluster().controller().get();
            ConfigResource broker = new ConfigResource(ConfigResource.Type.BROKER, node.idString());
            expect("1", admin.describeConfigs(List.of(broker)).all().get().get(broker)
                .get("num.partitions").value());
        }
    }

    private void adminRecords() throws Exception {
        createTopic(1);
        produce(numbers(10), Map.of());
        TopicPartition partition = new TopicPartition(name, 0);
        try (Admin admin = admin()) {
            expect(0L, offset(admin, partition, OffsetSpec.earliest()));
            expect(10L, offset(admin, partition, OffsetSpec.latest()));
            expect(true, offset(admin, partition, OffsetSpec.maxTimestamp()) >= 0);
            var deleted = admin.deleteRecords(Map.of(partition, RecordsToDelete.beforeOffset(6)));
            expect(6L, deleted.lowWatermarks().get(partition).get().lowWatermark());
            expect(6L, offset(admin, partition, OffsetSpec.earliest()));
            expect(6L, offset(admin, partition, OffsetSpec.forTimestamp(0)));
        }
    }

    private void adminGroups() throws Exception {
        createTopic(1);
        produce(numbers(10), Map.of());
        TopicPartition partition = new TopicPartition(name, 0);
        try (Admin admin = admin()) {
            try (var consumer = consumer(Map.of("enable.auto.commit", "false"))) {
                consumer.subscribe(List.of(name));
                read(consumer, 5);
                consumer.commitSync(Map.of(partition, new OffsetAndMetadata(5)));
                var described = admin.describeConsumerGroups(List.of(name)).all().get().get(name);
                expect(GroupState.STABLE, described.groupState());
                var member = described.members().iterator().next();
                expect(Set.of(partition), member.assignment().topicPartitions());
                expect(true, admin.listGroups().all().get().stream().anyMatch(g -> g.groupId().equals(name)));
            }
            expect(5L, committed(admin, partition));
            admin.alterConsumerGroupOffsets(name, Map.of(partition, new OffsetAndMetadata(2))).all().get();
            expect(2L, committed(admin, partition));
            admin.deleteConsumerGroupOffsets(name, Set.of(partition)).all().get();
            expect(null, committed(admin, partition));
            admin.deleteConsumerGroups(List.of(name)).all().get();
            expect(false, admin.listGroups().all().get().stream().anyMatch(g -> g.groupId().equals(name)));
        }
    }

    private void adminCluster() throws Exception {
        createTopic(1);
        produce(numbers(10), Map.of());
        try (Admin admin = admin()) {
            var cluster = admin.describeCluster();
            Node node = cluster.controller().get();
            expect(bootstrap, node.host() + ":" + node.port());
            expect(1, cluster.nodes().get().size());
            expect(true, !cluster.clusterId().get().isEmpty());
            var directories = admin.describeLogDirs(List.of(node.id())).allDescriptions().get().get(node.id());
            var directory = directories.values().iterator().next();
            expect(true, directory.replicaInfos().get(new TopicPartition(name, 0)).size() > 0);
            expect(true, directory.totalBytes().isPresent());
            admin.describeFeatures().featureMetadata().get();
        }
    }

    private Object committed(Admin admin, TopicPartition partition) throws Exception {
        OffsetAndMetadata found = admin.listConsumerGroupOffsets(name)
            .partitionsToOffsetAndMetadata().get().get(partition);
        return found == null ? null : found.offset();
    }

    private static long offset(Admin admin, TopicPartition partition, OffsetSpec spec) throws Exception {
        return admin.listOffsets(Map.of(partition, spec)).partitionResult(partition).get().offset();
    }

    private void createTopic(int partitions) throws Exception {
        try (Admin admin = admin()) {
            admin.createTopics(List.of(new NewTopic(name, partitions, (short) 1))).all().get();
        }
    }

    private List<Long> produce(List<String> values, Map<String, String> settings) throws Exception {
        try (var producer = producer(settings)) {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (String value : values) {
                sent.add(producer.send(new ProducerRecord<>(name, bytes(value))));
            }
            producer.flush();
            List<Long> offsets = new ArrayList<>();
            for (Future<RecordMetadata> one : sent) {
                offsets.add(one.get().offset());
            }
            return offsets;
        }
    }

    private List<ConsumerRecord<byte[], byte[]>> readAll(int count) {
        try (var consumer = consumer(Map.of())) {
            consumer.subscribe(List.of(name));
            return read(consumer, count);
        }
    }

    private static List<ConsumerRecord<byte[], byte[]>> read(KafkaConsumer<byte[], byte[]> consumer, int count) {
        List<ConsumerRecord<byte[], byte[]>> records = new ArrayList<>();
        long deadline = System.currentTimeMillis() + WITHIN_MS;
        while (records.size() < count) {
            expect(true, System.currentTimeMillis() < deadline);
            consumer.poll(SHORT).forEach(records::add);
        }
        return records;
    }

    private static void pollUntil(List<KafkaConsumer<byte[], byte[]>> consumers, Callable<Boolean> condition)
            throws Exception {
        long deadline = System.currentTimeMillis() + WITHIN_MS;
        while (!condition.call()) {
            expect(true, System.currentTimeMillis() < deadline);
            for (var consumer : consumers) {
                consumer.poll(SHORT);
            }
        }
    }

    private static void await(Callable<Boolean> condition) throws Exception {
        long deadline = System.currentTimeMillis() + WITHIN_MS;
        while (true) {
            try {
                if (condition.call()) {
                    return;
                }
            } catch (ExecutionException notYet) {
                // A broker may answer CreateTopics before it knows the topic everywhere.
            }
            expect(true, System.currentTimeMillis() < deadline);
        }
    }

    private Admin admin() {
        return Admin.create(Map.of("bootstrap.servers", bootstrap));
    }

    private KafkaProducer<byte[], byte[]> producer(Map<String, String> settings) {
        Map<String, Object> all = new HashMap<>(settings);
        all.put("bootstrap.servers", bootstrap);
        return new KafkaProducer<>(all, new ByteArraySerializer(), new ByteArraySerializer());
    }

    private KafkaConsumer<byte[], byte[]> consumer(Map<String, String> settings) {
        Map<String, Object> all = new HashMap<>(Map.of(
            ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap,
            ConsumerConfig.GROUP_ID_CONFIG, name,
            ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest",
            ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG, "6000",
            ConsumerConfig.HEARTBEAT_INTERVAL_MS_CONFIG, "300"));
        all.putAll(settings);
        return new KafkaConsumer<>(all, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    private static Throwable failure(Future<?> future) throws Exception {
        try {
            future.get();
        } catch (ExecutionException error) {
            return error.getCause();
        }
        throw new AssertionError("it did not fail");
    }

    private static Throwable failure(org.apache.kafka.common.KafkaFuture<?> future) throws Exception {
        return failure(future.toCompletionStage().toCompletableFuture());
    }

    private static List<String> numbers(int count) {
        return IntStream.range(0, count).mapToObj(Integer::toString).toList();
    }

    private static List<String> valuesOf(List<ConsumerRecord<byte[], byte[]>> records) {
        return records.stream().map(record -> new String(record.value(), UTF_8)).collect(Collectors.toList());
    }

    private static byte[] bytes(String text) {
        return text.getBytes(UTF_8);
    }

    private static void expect(Object expected, Object actual) {
        if (!Objects.equals(expected, actual)) {
            throw new AssertionError("expected " + expected + ", got " + actual);
        }
    }
}
