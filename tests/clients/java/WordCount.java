import java.util.Arrays;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;

import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;

/**
 * Counts words, exactly once: lines come with any key, so the words go through a repartition topic, and
 * the counts are kept in a changelog topic. Every new count of a word is written to the output topic.
 */
public final class WordCount {
    private WordCount() { }

    public static void main(String[] arguments) throws InterruptedException {
        String bootstrap = arguments[0];
        String application = arguments[1];
        String stateDirectory = arguments[2];

        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(application + "-lines", Consumed.with(Serdes.String(), Serdes.String()))
            .flatMapValues(line -> Arrays.asList(line.split(" ")))
            .groupBy((key, word) -> word, Grouped.with("words", Serdes.String(), Serdes.String()))
            .count(Materialized.as("counts"))
            .toStream()
            .to(application + "-counts", Produced.with(Serdes.String(), Serdes.Long()));

        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("application.id", application);
        settings.put("state.dir", stateDirectory);
        settings.put("processing.guarantee", "exactly_once_v2");
        settings.put("num.stream.threads", "2");
        // A cache would leave out some of the counts on the way.
        settings.put("statestore.cache.max.bytes", "0");
        // An application that was killed is missed sooner.
        settings.put("session.timeout.ms", "6000");
        settings.put("heartbeat.interval.ms", "500");

        KafkaStreams streams = new KafkaStreams(builder.build(), settings);
        // A broker that was away for long has aborted what was open: a new thread takes over and goes on.
        streams.setUncaughtExceptionHandler(error -> StreamThreadExceptionResponse.REPLACE_THREAD);
        CountDownLatch closed = new CountDownLatch(1);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            streams.close();
            closed.countDown();
        }));
        streams.start();
        closed.await();
    }
}
