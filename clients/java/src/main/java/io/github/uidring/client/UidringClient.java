package io.github.uidring.client;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Issues unique 64-bit IDs that it fetches from servers of uidring in the background. Make one per
 * process and share it: any number of threads may use it.
 *
 * <p>Make it after the process resumes from a snapshot (CRaC, SnapStart): each copy of a snapshot
 * would issue the same IDs from memory.
 */
public final class UidringClient implements AutoCloseable {
    private static final int LARGEST_BATCH = 100_000;
    private static final long SLOW_AFTER = TimeUnit.MILLISECONDS.toNanos(100); // then another server is asked, too
    private static final long FIRST_PAUSE = TimeUnit.MILLISECONDS.toNanos(500);
    private static final long LONGEST_PAUSE = TimeUnit.SECONDS.toNanos(30);
    private static final long LONELIEST_PAUSE = TimeUnit.SECONDS.toNanos(1); // the longest one while no server is well

    private final int batch;
    private final long wait;
    private final List<Server> servers = new ArrayList<>();
    private final List<Thread> threads = new ArrayList<>(); // one for each server

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final ArrayDeque<Server.Range> ranges = new ArrayDeque<>();
    private long left; // IDs in ranges
    private boolean closed;

    private UidringClient(Builder options) {
        batch = options.batch;
        wait = nanos(options.wait);
        HttpClient http = options.http != null ? options.http
            : HttpClient.newBuilder().connectTimeout(options.timeout).version(HttpClient.Version.HTTP_1_1).build();
        for (String url : options.servers) {
            servers.add(new Server(url, options, http));
        }
        Collections.shuffle(servers); // so that not all clients begin with the same server
        for (Server server : servers) {
            Thread thread = new Thread(() -> serve(server), "uidring " + server.name);
            thread.setDaemon(true);
            threads.add(thread);
            thread.start();
        }
    }

    /** Returns a builder for a client of servers: URLs, such as https://ids-1.example.com. */
    public static Builder builder(String... servers) {
        return new Builder(List.of(servers));
    }

    /**
     * Returns an ID from memory. While there is none it waits, at most as long as {@link Builder#wait}
     * says.
     *
     * @throws UnavailableException if no server gave IDs in time, or the thread was interrupted; its
     *     interrupt status stays set
     * @throws RejectedException if all servers reject the request
     * @throws ClosedException after close
     */
    public long next() {
        lock.lock();
        try {
            long patience = wait;
            while (true) {
                if (closed) {
                    throw new ClosedException();
                }
                dropOld();
                if (left > 0) {
                    return take();
                }
                throwIfRejected();
                if (patience <= 0) {
                    throw new UnavailableException("no server gave IDs within " + TimeUnit.NANOSECONDS.toMillis(wait) + " ms", errors());
                }
                patience = changed.awaitNanos(patience);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new UnavailableException("interrupted", errors());
        } finally {
            lock.unlock();
        }
    }

    /**
     * Returns an ID without blocking the caller. The future is complete if there are IDs in memory;
     * otherwise a thread of the executor waits in {@link #next}, whose exceptions the future has.
     */
    public CompletableFuture<Long> nextAsync(Executor executor) {
        lock.lock();
        try {
            dropOld();
            if (!closed && left > 0) {
                return CompletableFuture.completedFuture(take());
            }
        } finally {
            lock.unlock();
        }
        return CompletableFuture.supplyAsync(this::next, executor);
    }

    /** Drops the IDs in memory, and ends the requests under way. It may be called again. */
    @Override
    public void close() {
        lock.lock();
        try {
            closed = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        boolean interrupted = false;
        for (Thread thread : threads) {
            thread.interrupt();
            try {
                thread.join();
            } catch (InterruptedException e) {
                interrupted = true; // the other threads end by themselves
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private long take() {
        Server.Range head = ranges.peek();
        long id = head.first++;
        if (id == head.last) {
            ranges.remove();
        }
        lose(1);
        return id;
    }

    private void dropOld() {
        long now = System.nanoTime();
        while (!ranges.isEmpty() && now - ranges.peek().sent > ranges.peek().maxAge) {
            Server.Range old = ranges.remove();
            lose(old.last - old.first + 1);
        }
    }

    /** Counts n IDs fewer in memory, and wakes the threads when they become few. */
    private void lose(long n) {
        if (left > batch && left - n <= batch) {
            changed.signalAll();
        }
        left -= n;
    }

    /** Sends requests to a server until the client is closed. */
    private void serve(Server server) {
        try {
            while (awaitTurn(server)) {
                List<Server.Range> fetched = List.of();
                Exception error = null;
                try {
                    fetched = server.fetch();
                } catch (InterruptedException e) {
                    throw e;
                } catch (Throwable e) { // an Error for lack of memory, too: no other thread asks this server
                    error = e instanceof Exception ? (Exception) e : new IOException(e);
                }
                note(server, fetched, error);
            }
        } catch (InterruptedException e) {
            // The client is closed.
        }
    }

    private void note(Server server, List<Server.Range> fetched, Exception error) {
        lock.lock();
        try {
            server.busy = false;
            server.error = error;
            if (error == null) {
                server.pause = 0;
                ranges.addAll(fetched);
                left += batch;
            } else {
                server.failed = System.nanoTime();
                server.pause = Math.min(Math.max(2 * server.pause, FIRST_PAUSE), LONGEST_PAUSE);
                server.early = ThreadLocalRandom.current().nextDouble() / 4; // so that clients do not return at once
            }
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Waits until a request to the server is due. False: the client is closed. */
    private boolean awaitTurn(Server server) throws InterruptedException {
        lock.lock();
        try {
            while (!closed) {
                long now = System.nanoTime();
                long due = due(server, now);
                if (due <= 0) {
                    server.busy = true;
                    server.asked = now;
                    changed.signalAll();
                    return true;
                }
                changed.awaitNanos(due);
            }
            return false;
        } finally {
            lock.unlock();
        }
    }

    /** Returns the time until a request to the server is due, unless something changes before. */
    private long due(Server server, long now) {
        if (left > batch) {
            return Long.MAX_VALUE;
        }
        if (!server.isWell()) {
            return retryIn(server, now);
        }
        // Servers that are not well are asked beside the others: their answers are not expected.
        long expected = left;
        long slow = Long.MAX_VALUE;
        Server next = null;
        for (Server each : servers) {
            if (each.isWell() && !each.busy && (next == null || each.asked - next.asked < 0)) {
                next = each;
            } else if (each.isWell() && each.busy && now - each.asked < SLOW_AFTER) {
                expected += batch;
                slow = Math.min(slow, each.asked + SLOW_AFTER - now);
            }
        }
        if (expected > batch) {
            return slow;
        }
        return server == next ? 0 : Long.MAX_VALUE;
    }

    private long retryIn(Server server, long now) {
        long pause = server.pause;
        if (servers.stream().noneMatch(Server::isWell)) {
            pause = Math.min(pause, LONELIEST_PAUSE);
        }
        pause -= (long) (pause * server.early);
        if (server.error instanceof RejectedException) {
            pause = Math.max(pause, Math.min(nanos(((RejectedException) server.error).retryAfter()), LONGEST_PAUSE));
        }
        return server.failed + pause - now;
    }

    private void throwIfRejected() {
        for (Server server : servers) {
            if (!(server.error instanceof RejectedException) || !((RejectedException) server.error).isFinal()) {
                return;
            }
        }
        throw new RejectedException((RejectedException) servers.get(0).error);
    }

    private LinkedHashMap<String, Exception> errors() {
        LinkedHashMap<String, Exception> errors = new LinkedHashMap<>();
        for (Server server : servers) {
            if (!server.isWell()) {
                errors.put(server.name, server.error);
            }
        }
        return errors;
    }

    static long nanos(Duration d) {
        return d.compareTo(Duration.ofDays(100_000)) < 0 ? d.toNanos() : Long.MAX_VALUE / 2;
    }

    /** Options of a client. */
    public static final class Builder {
        final List<String> servers;
        String token;
        String segment;
        int batch = 1000;
        Duration timeout = Duration.ofSeconds(2);
        Duration wait = Duration.ofSeconds(5);
        Duration maxAge = Duration.ofMinutes(1);
        HttpClient http;

        private Builder(List<String> servers) {
            this.servers = servers;
        }

        /** Sets the token, which is sent to every server; default: none. */
        public Builder token(String token) {
            this.token = token;
            return this;
        }

        /** Sets the name of a segment to take IDs from; default: the generator of the servers. */
        public Builder segment(String segment) {
            this.segment = segment;
            return this;
        }

        /** Sets the number of IDs of a request, 1 to 100,000; default: 1,000. A server may have a lower limit. */
        public Builder batch(int batch) {
            this.batch = batch;
            return this;
        }

        /** Bounds each request; default: 2 s. */
        public Builder timeout(Duration timeout) {
            this.timeout = timeout;
            return this;
        }

        /** Sets how long {@link UidringClient#next} waits while no server gives IDs; default: 5 s. */
        public Builder wait(Duration wait) {
            this.wait = wait;
            return this;
        }

        /**
         * Sets how long after the request for it an ID may wait for its use; older ones are dropped. A
         * server sets a bound, by default 1 min, that holds if it is shorter. Default: 1 min.
         */
        public Builder maxAge(Duration maxAge) {
            this.maxAge = maxAge;
            return this;
        }

        /** Sets the HttpClient that sends the requests; default: one of its own. It must not follow redirects. */
        public Builder http(HttpClient http) {
            this.http = http;
            return this;
        }

        /**
         * Returns a client that begins to fetch IDs. It does not wait for them.
         *
         * @throws IllegalArgumentException with all mistakes of the options
         */
        public UidringClient build() {
            List<String> mistakes = new ArrayList<>();
            if (servers.isEmpty()) {
                mistakes.add("servers is empty, allowed: one URL or more");
            }
            for (int i = 0; i < servers.size(); i++) {
                if (!isServer(servers.get(i))) {
                    mistakes.add("servers[" + i + "] is not a valid URL, allowed: http:// or https://, a host, and optionally a port and a path");
                } else if (servers.subList(0, i).stream().map(Server::base).anyMatch(Server.base(servers.get(i))::equals)) {
                    mistakes.add("servers[" + i + "] is a URL before it again, allowed: each URL once");
                }
            }
            if (token != null && !token.matches("[!-~]+")) {
                mistakes.add("token is empty or has characters that no token has");
            }
            if (segment != null && !segment.matches("[0-9A-Za-z._-]{1,64}")) {
                mistakes.add("segment is not a name of 1 to 64 letters, digits, dots, underscores and hyphens");
            }
            if (batch < 1 || batch > LARGEST_BATCH) {
                mistakes.add("batch is " + batch + ", allowed: 1 to " + LARGEST_BATCH);
            }
            if (timeout.isZero() || timeout.isNegative()) {
                mistakes.add("timeout is " + timeout + ", allowed: more than 0");
            }
            if (wait.isNegative()) {
                mistakes.add("wait is " + wait + ", allowed: 0 or more");
            }
            if (maxAge.isZero() || maxAge.isNegative()) {
                mistakes.add("maxAge is " + maxAge + ", allowed: more than 0");
            }
            if (!mistakes.isEmpty()) {
                throw new IllegalArgumentException("uidring: " + String.join("; ", mistakes));
            }
            return new UidringClient(this);
        }

        /** Tells whether a text is the URL of a server. A password in it would show in messages. */
        private static boolean isServer(String text) {
            try {
                URI url = URI.create(text);
                return ("http".equals(url.getScheme()) || "https".equals(url.getScheme())) && url.getHost() != null
                    && url.getUserInfo() == null && url.getQuery() == null && url.getFragment() == null;
            } catch (IllegalArgumentException e) {
                return false;
            }
        }
    }
}
