package io.github.uidring.client;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** A server with its last result. One thread sends its requests. Times are of System.nanoTime. */
final class Server {
    final String name;

    // Guarded by the lock of the client.
    boolean busy; // a request is under way
    long asked; // when the last request began
    long failed; // when the last failure was noticed
    Exception error; // of the last request; null: the server is well
    long pause; // in nanoseconds
    double early; // by how much of the pause

    private final HttpClient http;
    private final HttpRequest request;
    private final Duration timeout;
    private final int batch;
    private final long maxAge; // in nanoseconds
    private final Map<String, Long> last = new LastIDs(); // of each stream; for the thread of the requests

    Server(String url, UidringClient.Builder options, HttpClient http) {
        name = base(url);
        String path = options.segment == null ? "/v1/ids" : "/v1/segments/" + options.segment;
        HttpRequest.Builder builder = HttpRequest.newBuilder(URI.create(name + path + "?form=ranges&n=" + options.batch))
            .POST(HttpRequest.BodyPublishers.noBody()) // a cache may answer a GET again, even against its headers
            .header("Accept", "text/plain")
            .version(HttpClient.Version.HTTP_1_1) // a request that times out closes its connection
            .timeout(options.timeout);
        if (options.token != null) {
            builder.header("Authorization", "Bearer " + options.token);
        }
        request = builder.build();
        timeout = options.timeout;
        batch = options.batch;
        maxAge = UidringClient.nanos(options.maxAge);
        this.http = http;
        asked = System.nanoTime();
    }

    /** Returns a URL without the slashes at its end. */
    static String base(String url) {
        return url.replaceAll("/+$", "");
    }

    boolean isWell() {
        return error == null;
    }

    /** Draws a batch of IDs. */
    List<Range> fetch() throws IOException, InterruptedException {
        long sent = System.nanoTime();
        CompletableFuture<HttpResponse<String>> answer = http.sendAsync(request, info -> new Body(65536 + 64L * batch, info.statusCode()));
        try {
            return read(answer.get(timeout.toNanos(), TimeUnit.NANOSECONDS), sent); // the request's timeout ends with the headers
        } catch (ExecutionException e) {
            if (e.getCause() instanceof IOException) {
                throw (IOException) e.getCause();
            }
            throw new IOException(e.getCause());
        } catch (TimeoutException e) {
            throw new IOException("no answer within " + timeout.toMillis() + " ms");
        } finally {
            answer.cancel(true);
        }
    }

    private List<Range> read(HttpResponse<String> answer, long sent) throws IOException {
        if (answer.statusCode() != 200) {
            String after = answer.headers().firstValue("Retry-After").filter(s -> s.matches("[0-9]{1,9}")).orElse("0");
            throw RejectedException.of(name, answer.statusCode(), answer.body(), Long.parseLong(after));
        }
        List<Range> ranges = new ArrayList<>();
        long total = 0;
        long allowed = Math.min(maxAge, allowed(answer));
        for (String line : answer.body().split("\n")) {
            if (!line.matches("[0-9]{1,19} [0-9]{1,6}")) {
                throw new IOException("invalid answer");
            }
            String[] fields = line.split(" ");
            try {
                long first = Long.parseLong(fields[0]);
                long count = Long.parseLong(fields[1]);
                if (first < 1 || count < 1 || first > Long.MAX_VALUE - count + 1) {
                    throw new IOException("invalid answer: a range of " + line);
                }
                ranges.add(new Range(first, first + count - 1, sent, allowed));
                total += count;
            } catch (NumberFormatException e) {
                throw new IOException("invalid answer: a range of " + line);
            }
        }
        if (total != batch) {
            throw new IOException("invalid answer: " + total + " IDs, want " + batch);
        }
        follow(String.join(", ", answer.headers().allValues("Uidring-Stream")), ranges);
        long age = System.nanoTime() - sent;
        if (age > allowed) {
            throw new IOException("an answer after " + TimeUnit.NANOSECONDS.toMillis(age) + " ms, with IDs that may be kept for "
                + TimeUnit.NANOSECONDS.toMillis(allowed) + " ms");
        }
        return ranges;
    }

    /**
     * Refuses ranges that are not above the last ID of their stream: a proxy or server that repeats an
     * answer has given them before. The stream is "" if a proxy drops the header.
     */
    private void follow(String stream, List<Range> ranges) throws IOException {
        if (!stream.matches("[0-9A-Za-z._-]{0,64}")) {
            throw new IOException("invalid answer: Uidring-Stream \"" + stream.substring(0, Math.min(64, stream.length()))
                + "\", allowed: 1 to 64 letters, digits, dots, underscores and hyphens");
        }
        long end = last.getOrDefault(stream, 0L);
        for (Range range : ranges) {
            if (range.first <= end) {
                throw new IOException("invalid answer: a range of " + (range.last - range.first + 1) + " IDs from " + range.first
                    + ", allowed: above " + end + ", the last ID of stream \"" + stream + "\" from this server");
            }
            end = range.last;
        }
        last.put(stream, end);
    }

    /**
     * Returns how long after their request the server allows IDs to be kept: the horizon of their
     * namespace passes older ones. Segments have no horizon and send no such header.
     */
    private static long allowed(HttpResponse<String> answer) throws IOException {
        List<String> values = answer.headers().allValues("Uidring-Max-Age");
        if (values.isEmpty()) {
            return Long.MAX_VALUE;
        }
        String seconds = String.join(", ", values);
        if (!seconds.matches("[0-9]{1,9}")) {
            throw new IOException("invalid answer: Uidring-Max-Age \"" + seconds.substring(0, Math.min(64, seconds.length()))
                + "\", allowed: whole seconds");
        }
        return TimeUnit.SECONDS.toNanos(Long.parseLong(seconds));
    }

    /**
     * Collects the text of an answer. Beyond a number of bytes it fails, since a wrong server may send
     * without end, or cuts the text if the status says enough.
     */
    private static final class Body implements HttpResponse.BodySubscriber<String> {
        private final HttpResponse.BodySubscriber<String> text = HttpResponse.BodySubscribers.ofString(StandardCharsets.UTF_8);
        private Flow.Subscription subscription;
        private final int status;
        private long left;

        Body(long most, int status) {
            left = most;
            this.status = status;
        }

        @Override
        public CompletionStage<String> getBody() {
            return text.getBody();
        }

        @Override
        public void onSubscribe(Flow.Subscription subscription) {
            this.subscription = subscription;
            text.onSubscribe(subscription);
        }

        @Override
        public void onNext(List<ByteBuffer> part) {
            left -= part.stream().mapToLong(ByteBuffer::remaining).sum();
            if (left >= 0) {
                text.onNext(part);
                return;
            }
            subscription.cancel();
            if (status == 200) {
                onError(new IOException("invalid answer: too long"));
            } else {
                onComplete();
            }
        }

        @Override
        public void onError(Throwable e) {
            text.onError(e);
        }

        @Override
        public void onComplete() {
            text.onComplete();
        }
    }

    /** The last ID of each stream. It forgets the stream whose last answer is the oldest, to bound the memory. */
    private static final class LastIDs extends LinkedHashMap<String, Long> {
        private static final long serialVersionUID = 1;

        LastIDs() {
            super(16, 0.75f, true); // in the order of use
        }

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Long> eldest) {
            return size() > 1000;
        }
    }

    /** The IDs from first to last. The first of them is the next to be issued. */
    static final class Range {
        final long last;
        final long sent; // the request for it
        final long maxAge; // since then
        long first;

        Range(long first, long last, long sent, long maxAge) {
            this.first = first;
            this.last = last;
            this.sent = sent;
            this.maxAge = maxAge;
        }
    }
}
