package io.github.uidring.client;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/** No server gave IDs in time, or the thread was interrupted while it waited. */
public final class UnavailableException extends UidringException {
    private static final long serialVersionUID = 1;

    private final LinkedHashMap<String, Exception> servers;

    UnavailableException(String reason, LinkedHashMap<String, Exception> servers) {
        super(message(reason, servers));
        this.servers = servers;
    }

    /** Returns the last exception of each server that is not well, by URL. */
    public Map<String, Exception> servers() {
        return Collections.unmodifiableMap(servers);
    }

    private static String message(String reason, Map<String, Exception> servers) {
        StringBuilder text = new StringBuilder(reason);
        servers.forEach((server, e) -> text.append("; ")
            .append(e instanceof RejectedException ? e.getMessage() : server + ": " + e));
        return text.toString();
    }
}
