//! The contract of every scenario as tests on raw sockets, for any program that claims to keep it.
