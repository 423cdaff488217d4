package io.github.uidring.client;

/** The client was closed. */
public final class ClosedException extends UidringException {
    private static final long serialVersionUID = 1;

    ClosedException() {
        super("the client is closed");
    }
}
