package io.github.uidring.client;

/** The base of the exceptions of a {@link UidringClient}. */
public abstract class UidringException extends RuntimeException {
    private static final long serialVersionUID = 1;

    UidringException(String message) {
        super(message);
    }
}
