// This file is empty: it allows functions without a body, which lanes_pinned.go links to the runtime's.
