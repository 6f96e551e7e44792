//! HTTP/1.1 client connections as explicit state machines over non-blocking sockets.
