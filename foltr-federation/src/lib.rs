//! What crosses the wire, and what the server makes of it.
