import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.HashMap;
import java.util.Map;

import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.OutOfOrderSequenceException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.errors.UnsupportedVersionException;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * A transactional producer that is told on its standard input what to do, and answers each line with
 * "ok", "abortable REASON" or "fatal REASON". When the input ends, it is gone without a word to the broker.
 */
public final class TransactionalProducer {
    private final KafkaProducer<String, String> producer;

    private TransactionalProducer(String bootstrap, String transactionalId, int timeoutMs) {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("transactional.id", transactionalId);
        settings.put("transaction.timeout.ms", timeoutMs);
        settings.put("delivery.timeout.ms", timeoutMs);
        settings.put("request.timeout.ms", timeoutMs / 2);
        settings.put("max.block.ms", "30000");
        settings.put("retry.backoff.ms", "20");
        settings.put("reconnect.backoff.ms", "20");
        settings.put("reconnect.backoff.max.ms", "200");
        producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
    }

    public static void main(String[] arguments) throws Exception {
        TransactionalProducer told = new TransactionalProducer(arguments[0], arguments[1], Integer.parseInt(arguments[2]));
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            System.out.println(told.answer(line.split(" ")));
            System.out.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    private String answer(String[] command) {
        try {
            perform(command);
            return "ok";
        } catch (ProducerFencedException | OutOfOrderSequenceException | AuthorizationException
                | UnsupportedVersionException | IllegalStateException error) {
            return "fatal " + oneLine(error);
        } catch (KafkaException error) {
            return "abortable " + oneLine(error);
        }
    }

    private void perform(String[] command) {
        switch (command[0]) {
            case "start" -> producer.initTransactions();
            case "begin" -> producer.beginTransaction();
            case "append" -> producer.send(
                new ProducerRecord<>(command[1], Integer.parseInt(command[2]), null, command[3]));
            case "offsets" -> producer.sendOffsetsToTransaction(
                offsets(command), group(command[1]));
            case "commit" -> producer.commitTransaction();
            case "abort" -> producer.abortTransaction();
            default -> throw new IllegalStateException("no such command: " + command[0]);
        }
    }

    private static Map<TopicPartition, OffsetAndMetadata> offsets(String[] command) {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        for (int at = 2; at < command.length; at += 3) {
            TopicPartition place = new TopicPartition(command[at], Integer.parseInt(command[at + 1]));
            offsets.put(place, new OffsetAndMetadata(Long.parseLong(command[at + 2])));
        }
        return offsets;
    }

    /** A group without members: whoever names it may commit. There is no other way to name one yet. */
    @SuppressWarnings("removal")
    private static ConsumerGroupMetadata group(String name) {
        return new ConsumerGroupMetadata(name);
    }

    private static String oneLine(Exception error) {
        return error.toString().replace('\n', ' ');
    }
}
