import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.github.uidring.client.RejectedException;
import io.github.uidring.client.UidringClient;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.http.HttpClient;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.Executor;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.atomic.AtomicBoolean;

/** Checks of the client that need no server of uidring. */
final class Checks {
    private Checks() {}

    static void run() throws IOException {
        UidringClient.Builder twice = UidringClient.builder("http://a", "http://b", "http://a/");
        expect("servers[2] is a URL before it again, allowed: each URL once", failure(twice::build).getMessage());

        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/ids/", exchange -> answer(exchange, 200, "7 1\n"));
        server.createContext("/page/", exchange -> answer(exchange, 200, " ".repeat(200_000)));
        server.createContext("/refusal/", exchange -> answer(exchange, 401, " ".repeat(200_000)));
        server.start();
        String url = "http:/" + server.getAddress() + "/";
        try {
            checkErrors(url);
        } finally {
            server.stop(0);
        }
    }

    private static void checkErrors(String url) {
        try (UidringClient ids = UidringClient.builder(url + "page").batch(1).wait(Duration.ofSeconds(3)).build()) {
            expect("invalid answer: too long", failure(ids::next).getMessage());
        }
        try (UidringClient ids = UidringClient.builder(url + "refusal").batch(1).build()) {
            RuntimeException first = failure(ids::next);
            RuntimeException second = failure(ids::next);
            expect("status 401", first.getMessage());
            expect("true", String.valueOf(first != second && first instanceof RejectedException
                && first.getCause() == second.getCause() && first.getStackTrace().length > 2
                && second.getStackTrace()[1].getClassName().equals(UidringClient.class.getName())));
        }
        AtomicBoolean failed = new AtomicBoolean();
        Executor executor = work -> {
            if (!failed.getAndSet(true)) {
                throw new OutOfMemoryError("once");
            }
            ForkJoinPool.commonPool().execute(work);
        };
        HttpClient http = HttpClient.newBuilder().executor(executor).build();
        try (UidringClient ids = UidringClient.builder(url + "ids").batch(1).http(http).build()) {
            expect("7", String.valueOf(ids.next()));
        }
    }

    private static void answer(HttpExchange exchange, int status, String text) throws IOException {
        exchange.sendResponseHeaders(status, text.length());
        exchange.getResponseBody().write(text.getBytes(StandardCharsets.US_ASCII));
        exchange.close();
    }

    private static RuntimeException failure(Runnable call) {
        try {
            call.run();
        } catch (RuntimeException e) {
            return e;
        }
        throw new AssertionError("no exception");
    }

    private static void expect(String want, String got) {
        if (!got.contains(want)) {
            throw new AssertionError(got + ", want " + want);
        }
    }
}
