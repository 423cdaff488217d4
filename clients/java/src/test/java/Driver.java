import io.github.uidring.client.ClosedException;
import io.github.uidring.client.RejectedException;
import io.github.uidring.client.UidringClient;
import io.github.uidring.client.UidringException;
import io.github.uidring.client.UnavailableException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletionException;

/** Draws IDs as its standard input says; the tests of cmd/uidring/internal/daemon run it. */
public final class Driver {
    private static UidringClient ids;

    private Driver() {}

    public static void main(String[] args) throws IOException, InterruptedException {
        Checks.run();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            String result = "ok";
            try {
                if (words[0].equals("open")) {
                    open(words);
                } else if (words[0].equals("take")) {
                    take(Integer.parseInt(words[1]), Integer.parseInt(words[2]));
                } else {
                    close();
                }
            } catch (RuntimeException e) {
                result = "error " + kind(e) + " | " + e.getMessage();
            }
            System.out.println(result);
            System.out.flush();
        }
    }

    private static String kind(RuntimeException e) {
        if (e instanceof RejectedException) {
            return "rejected " + ((RejectedException) e).status() + " " + ((RejectedException) e).type();
        }
        return e instanceof ClosedException ? "closed" : e instanceof UnavailableException ? "unavailable"
            : e instanceof IllegalArgumentException ? "invalid" : "other";
    }

    private static void open(String[] words) {
        if (ids != null) {
            ids.close();
        }
        ids = UidringClient.builder(words[1].split(",")).token(words[2]).batch(Integer.parseInt(words[3])).timeout(millis(words[4]))
            .wait(millis(words[5])).maxAge(millis(words[6])).build();
    }

    private static Duration millis(String text) {
        return Duration.ofMillis(Long.parseLong(text));
    }

    private static void take(int n, int takers) throws InterruptedException {
        List<Long> drawn = Collections.synchronizedList(new ArrayList<>());
        List<RuntimeException> errors = Collections.synchronizedList(new ArrayList<>());
        inThreads(takers, () -> {
            try {
                for (int i = 0; i < n / takers; i++) {
                    drawn.add(i % 2 == 0 ? ids.next() : nextAsync());
                }
            } catch (RuntimeException e) {
                errors.add(e);
            }
        }, () -> { });
        StringBuilder text = new StringBuilder();
        drawn.forEach(id -> text.append(id).append('\n'));
        System.out.print(text);
        if (!errors.isEmpty()) {
            throw errors.get(0);
        }
    }

    private static long nextAsync() {
        try {
            return ids.nextAsync(Runnable::run).join();
        } catch (CompletionException e) {
            throw (RuntimeException) e.getCause();
        }
    }

    /** Closes the client while a call waits, or before it begins, and wants that call to say so. */
    private static void close() throws InterruptedException {
        inThreads(1, () -> {
            while (true) {
                try {
                    ids.next();
                } catch (ClosedException e) {
                    return;
                } catch (UidringException e) {
                    // again
                }
            }
        }, () -> ids.close());
        ids.next();
    }

    private static void inThreads(int n, Runnable work, Runnable meanwhile) throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            threads.add(new Thread(work));
            threads.get(i).start();
        }
        meanwhile.run();
        for (Thread thread : threads) {
            thread.join();
        }
    }
}
