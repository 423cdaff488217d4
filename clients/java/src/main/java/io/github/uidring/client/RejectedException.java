package io.github.uidring.client;

import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * An answer of a server without IDs. A call throws it if every server rejects the request: the token
 * is unknown (status 401), the batch is larger than the servers allow (400), or they have no such
 * segment (404).
 */
public final class RejectedException extends UidringException {
    private static final long serialVersionUID = 1;

    private final String server;
    private final int status;
    private final String type;
    private final String title;
    private final String detail;
    private final Duration retryAfter;

    private RejectedException(String server, int status, String type, String title, String detail, Duration retryAfter) {
        super(server + ": status " + status + (title.isEmpty() ? "" : ": " + title) + (detail.isEmpty() ? "" : ": " + detail));
        this.server = server;
        this.status = status;
        this.type = type;
        this.title = title;
        this.detail = detail;
        this.retryAfter = retryAfter;
    }

    /** Makes the exception of a call from one of a request: its stack is of the caller. */
    RejectedException(RejectedException cause) {
        this(cause.server, cause.status, cause.type, cause.title, cause.detail, cause.retryAfter);
        initCause(cause);
    }

    /** Reads a problem document. Proxies answer without one. */
    static RejectedException of(String server, int status, String body, long retryAfterSeconds) {
        String type = member(body, "type");
        return new RejectedException(server, status, type.isEmpty() ? "about:blank" : type, member(body, "title"),
            member(body, "detail"), Duration.ofSeconds(retryAfterSeconds));
    }

    /** Returns the URL of the server. */
    public String server() {
        return server;
    }

    /** Returns the status of HTTP. */
    public int status() {
        return status;
    }

    /** Returns the type, which is stable, such as https://github.com/uidring/uidring/blob/main/docs/SERVICE.md#unauthorized. */
    public String type() {
        return type;
    }

    /** Returns the title of the type; "" without a problem document. */
    public String title() {
        return title;
    }

    /** Returns the detail, for people; "" without a problem document. */
    public String detail() {
        return detail;
    }

    Duration retryAfter() {
        return retryAfter;
    }

    /** Tells whether the server would reject the request again. */
    boolean isFinal() {
        return status < 500 && status != 408 && status != 429;
    }

    /** Returns a member of a flat JSON object whose value is a string, or "". */
    private static String member(String json, String name) {
        Matcher start = Pattern.compile("\"" + name + "\"\\s*:\\s*\"").matcher(json);
        return start.find() ? text(json, start.end()) : "";
    }

    /** Returns the string whose characters begin at i. A regular expression would overflow the stack on a long one. */
    private static String text(String json, int i) {
        StringBuilder text = new StringBuilder();
        for (; i < json.length() && json.charAt(i) != '"'; i++) {
            char c = json.charAt(i);
            if (c == '\\' && ++i < json.length()) {
                c = json.charAt(i);
                int escaped = "nrt".indexOf(c);
                if (c == 'u' && i + 4 < json.length() && json.substring(i + 1, i + 5).matches("[0-9a-fA-F]{4}")) {
                    c = (char) Integer.parseInt(json.substring(i + 1, i + 5), 16);
                    i += 4;
                } else if (escaped >= 0) {
                    c = "\n\r\t".charAt(escaped);
                }
            }
            text.append(c);
        }
        return i < json.length() ? text.toString() : ""; // without its end it is cut off
    }
}
